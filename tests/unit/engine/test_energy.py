"""Energy is a figure with a code: what a counter can't tell is null with the reason."""

import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from atpar.engine import conditions as rooms
from atpar.engine import gpu_state as states
from atpar.engine.conditions import Conditions
from atpar.engine.devices import device_uuid
from atpar.engine.energy import energy
from atpar.engine.rocm_smi import rocm_state


def state(joules, reason=None, limit=300.0):
    reasons = {} if reason is None else {"energy_j": reason}
    return {"energy_j": joules, "power_limit_w": limit, "reasons": reasons}


def test_a_counter_that_ticks_gives_joules():
    found = energy(state(1000.0), state(3500.0), 10.0)
    assert found == {"energy_j": 2500.0, "validity": "valid", "reason": None}


@pytest.mark.parametrize(
    ("before", "after", "elapsed", "code", "words"),
    [
        (None, None, 10, "no counter", "ran on the CPU"),
        (state(None, "Not Supported"), state(None, "x"), 10, "no counter", "Not Supported"),
        ({"reasons": {"all": "no driver"}}, {"reasons": {}}, 10, "no counter", "no driver"),
        (state(None, "Not Supported"), state(9.0), 10, "gap", "read once alone: Not Supported"),
        (state(9.0), state(None, "GPU is lost"), 10, "gap", "read once alone: GPU is lost"),
        (state(9.0), state(1.0), 10, "gap", "went back from 9 J to 1 J"),
        (state(9.0), state(9.0), 10, "not ticking", "stood still at 9 J"),
        (state(9.0), state(90.0), 0.4, "too short", "0.4 s is too short"),
        (state(0.0), state(90_000.0), 10, "gap", "9000 W on average"),
    ],
)
def test_what_cannot_be_believed_is_null_with_its_code(before, after, elapsed, code, words):
    found = energy(before, after, elapsed)
    assert found["energy_j"] is None
    assert found["validity"] == code
    assert words in found["reason"]


def test_a_limit_that_is_not_known_bounds_nothing():
    assert energy(state(0.0, limit=None), state(9e4, limit=None), 10.0)["validity"] == "valid"


class NVMLError(Exception):
    pass


@pytest.fixture
def card(monkeypatch):
    """NVML as it answers for one card; `joules` is what its counter shows next."""
    card = SimpleNamespace(
        joules=[100.0, 400.0], throttled=0x04, lowered_ns=([7 * 10**9] * 4, [0] * 4)
    )

    def energy_mj(_):
        if not card.joules:
            raise NVMLError("Not Supported")
        return card.joules.pop(0) * 1000

    library = SimpleNamespace(
        NVMLError=NVMLError,
        NVML_CLOCK_SM=1,
        NVML_CLOCK_MEM=2,
        NVML_TEMPERATURE_GPU=0,
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetClockInfo=lambda _, kind: {1: 1980, 2: 2619}[kind],
        nvmlDeviceGetTemperature=lambda *_: 61,
        nvmlDeviceGetPowerUsage=lambda _: 250_000,
        nvmlDeviceGetEnforcedPowerLimit=lambda _: 350_000,
        nvmlDeviceGetTotalEnergyConsumption=energy_mj,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda _: card.throttled,
        NVML_PERF_POLICY_POWER=0,
        NVML_PERF_POLICY_THERMAL=1,
        nvmlDeviceGetViolationStatus=lambda _, policy: SimpleNamespace(
            violationTime=card.lowered_ns[policy].pop(0)
        ),
    )

    @contextmanager
    def nvml():
        yield library

    monkeypatch.setattr(states, "nvml", nvml)
    return card


CARDS = [{"kind": "cuda", "uuid": "GPU-1"}]


@pytest.mark.usefixtures("card")
def test_every_condition_of_a_card_is_recorded_with_its_energy():
    conditions = Conditions()
    conditions.start(CARDS)
    found = conditions.stop(2.0)
    [before], [after] = found["cards_before"], found["cards_after"]
    assert before.keys() == after.keys()
    assert {**after, "energy_j": None} == {
        "sm_clock_mhz": 1980,
        "memory_clock_mhz": 2619,
        "temperature_c": 61,
        "power_w": 250,
        "power_limit_w": 350,
        "energy_j": None,
        "throttle_reasons": 0x04,
        "power_violation_s": 7.0,
        "thermal_violation_s": 0.0,
        "reasons": {},
    }
    assert found["energy"] == [{"energy_j": 300.0, "validity": "valid", "reason": None}]
    assert found["throttled"] == ["power limit (software)"]
    assert found["load_average_1min"] >= 0


def test_clocks_lowered_in_the_span_are_told_of_a_card_that_idles_again(card):
    card.throttled = 0x01
    card.lowered_ns[0][:] = [7 * 10**9, 8_500_000_000]
    card.lowered_ns[1][:] = [0, 1_000_000]
    conditions = Conditions()
    conditions.start(CARDS)
    assert conditions.stop(2.0)["throttled"] == ["power limit for 1.5 s of the span"]


def test_a_card_without_a_counter_says_so(card):
    card.joules.clear()
    conditions = Conditions()
    conditions.start(CARDS)
    [found] = conditions.stop(2.0)["energy"]
    assert (found["energy_j"], found["validity"]) == (None, "no counter")
    assert found["reason"] == "NVML: Not Supported"


def test_several_cards_have_their_energy_apart(card):
    card.joules[:] = [0.0, 0.0, 10.0, 20.0]
    conditions = Conditions()
    conditions.start([*CARDS, {"kind": "cuda", "uuid": "GPU-2"}])
    assert [one["energy_j"] for one in conditions.stop(2.0)["energy"]] == [10.0, 20.0]


def test_a_cpu_has_no_counter():
    conditions = Conditions()
    conditions.start([])
    found = conditions.stop(2.0)
    assert found["cards_before"] == found["cards_after"] == []
    assert found["energy"][0]["validity"] == "no counter"
    assert "CPU" in found["energy"][0]["reason"]
    assert found["throttled"] == []


class AmdSmiException(Exception):
    pass


def unsupported(*_):
    raise AmdSmiException("not supported")


@pytest.fixture
def amdsmi(monkeypatch):
    """AMD's library as it answers for two cards."""
    library = SimpleNamespace(
        AmdSmiException=AmdSmiException,
        AmdSmiClkType=SimpleNamespace(GFX="gfx", MEM="mem"),
        AmdSmiTemperatureType=SimpleNamespace(HOTSPOT="hotspot"),
        AmdSmiTemperatureMetric=SimpleNamespace(CURRENT="current"),
        amdsmi_init=lambda: None,
        amdsmi_shut_down=lambda: None,
        amdsmi_get_processor_handles=lambda: [1, 2],
        amdsmi_get_gpu_asic_info=lambda one: {"asic_serial": f"0xABCDEF000000000{one}"},
        amdsmi_get_clock_info=lambda _, kind: {"clk": {"gfx": 2100, "mem": 1300}[kind]},
        amdsmi_get_temp_metric=lambda *_: 55,
        amdsmi_get_power_info=lambda _: {
            "current_socket_power": "N/A",
            "average_socket_power": 420,
            "power_limit": 750,
        },
        amdsmi_get_energy_count=lambda one: {
            "energy_accumulator": 2_000_000 * one,
            "counter_resolution": 15.3,
        },
        amdsmi_get_gpu_metrics_info=unsupported,
    )
    monkeypatch.setitem(sys.modules, "amdsmi", library)
    return library


@pytest.mark.usefixtures("amdsmi")
def test_amds_cards_tell_the_same_fields_and_units():
    found = states.gpu_state("rocm", "GPU-abcdef0000000002")
    assert found.pop("reasons") == {"throttle_status": "AMD SMI: not supported"}
    assert found == {
        "sm_clock_mhz": 2100,
        "memory_clock_mhz": 1300,
        "temperature_c": 55,
        "power_w": 420,
        "power_limit_w": 750,
        "energy_j": pytest.approx(61.2),
        "throttle_status": None,
    }


def test_an_older_release_calls_the_counter_power(amdsmi):
    amdsmi.amdsmi_get_energy_count = lambda _: {"power": 1_000_000, "counter_resolution": 15.3}
    assert rocm_state("GPU-abcdef0000000001")["energy_j"] == pytest.approx(15.3)


def test_a_card_that_amds_library_does_not_list_has_no_state(amdsmi):
    assert "lists no GPU GPU-1" in rocm_state("GPU-1")["reasons"]["all"]
    amdsmi.amdsmi_init = unsupported
    assert rocm_state("GPU-abcdef0000000001") == {"reasons": {"all": "AMD SMI: not supported"}}


def test_a_machine_without_amds_library_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    assert "comes with ROCm" in states.gpu_state("rocm", "GPU-1")["reasons"]["all"]


def test_conditions_know_amds_cards_too(amdsmi):
    counts = [0, 10**8]
    amdsmi.amdsmi_get_energy_count = lambda _: {
        "energy_accumulator": counts.pop(0),
        "counter_resolution": 10.0,
    }
    conditions = rooms.Conditions()
    conditions.start([{"kind": "rocm", "uuid": "GPU-abcdef0000000001"}])
    assert conditions.stop(4.0)["energy"][0]["energy_j"] == 1000.0


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (
            "74ed0000-1111-2222-3333-444444444444",
            "cuda",
            "GPU-74ed0000-1111-2222-3333-444444444444",
        ),
        ("GPU-74ed", "cuda", "GPU-74ed"),
        ("61626364-6566-3030-3030-303030303032", "rocm", "GPU-abcdef0000000002"),
        (
            "74ed0000-1111-2222-3333-444444444444",
            "rocm",
            "GPU-74ed0000-1111-2222-3333-444444444444",
        ),
    ],
)
def test_torchs_uuid_becomes_the_drivers(text, kind, expected):
    assert device_uuid(text, kind) == expected
