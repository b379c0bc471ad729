"""What is asked of NVML: each answer in its field, each refusal as a reason."""

import sys
from types import SimpleNamespace

import pytest

from atpar.engine import gpus
from atpar.engine.gpu_state import gpu_state, in_use, occupancy
from atpar.engine.nvml import memory_of_process


class NVMLError(Exception):
    pass


class NotSupported(NVMLError):
    pass


def refuse(*_):
    raise NotSupported("Not Supported")


@pytest.fixture
def library():
    """NVML as it answers for one card: two NVLinks of which one is up, no clocks set by hand."""
    links = [1, 0]

    def link_state(_, number):
        if number >= len(links):
            raise NotSupported("Not Supported")
        return links[number]

    return SimpleNamespace(
        NVMLError=NVMLError,
        NVMLError_NotSupported=NotSupported,
        NVMLError_InvalidArgument=NotSupported,
        NVML_CLOCK_SM=1,
        NVML_CLOCK_MEM=2,
        NVML_NVLINK_MAX_LINKS=18,
        nvmlDeviceGetName=lambda _: b"NVIDIA B200",
        nvmlDeviceGetUUID=lambda _: "GPU-1",
        nvmlDeviceGetMemoryInfo=lambda _: SimpleNamespace(total=192 * 2**30),
        nvmlDeviceGetCudaComputeCapability=lambda _: (10, 0),
        nvmlDeviceGetEnforcedPowerLimit=lambda _: 1_000_000,
        nvmlDeviceGetEccMode=lambda _: (1, 1),
        nvmlDeviceGetMigMode=refuse,
        nvmlDeviceGetPersistenceMode=lambda _: 0,
        nvmlDeviceGetPciInfo=lambda _: SimpleNamespace(busId=b"00000000:1B:00.0"),
        nvmlSystemGetDriverVersion=lambda: "580.10",
        nvmlSystemGetCudaDriverVersion_v2=lambda: 13010,
        nvmlDeviceGetMaxClockInfo=lambda _, kind: {1: 1965, 2: 3996}[kind],
        nvmlDeviceGetApplicationsClock=refuse,
        nvmlDeviceGetMaxPcieLinkGeneration=lambda _: 6,
        nvmlDeviceGetMaxPcieLinkWidth=lambda _: 16,
        nvmlDeviceGetNvLinkState=link_state,
    )


def test_every_field_of_a_card_has_its_value_or_a_reason(library):
    found = gpus._nvidia(library, object())
    reasons = found.pop("reasons")
    assert {name for name, value in found.items() if value is None} == set(reasons)
    assert set(reasons) == {"mig", "application_sm_clock_mhz"}
    assert "Not Supported" in reasons["mig"]
    expected = {
        "name": "NVIDIA B200",
        "driver": "580.10",
        "cuda_of_driver": "13.1",
        "compute_capability": "10.0",
        "max_sm_clock_mhz": 1965,
        "max_memory_clock_mhz": 3996,
        "ecc": True,
        "persistence": False,
        "pcie": "generation 6, 16 lanes",
        "nvlinks": 1,
        "power_limit_w": 1000,
    }
    assert {name: found[name] for name in expected} == expected


def test_a_card_without_nvlink_has_none(library):
    library.nvmlDeviceGetNvLinkState = refuse
    assert gpus._nvidia(library, object())["nvlinks"] == 0


@pytest.fixture
def gone(library, monkeypatch):
    """NVML as it answers for a card that was lost, or is another node's."""

    def lost(_):
        raise NVMLError("GPU is lost")

    library.nvmlInit = library.nvmlShutdown = lambda: None
    library.nvmlDeviceGetHandleByUUID = library.nvmlDeviceGetHandleByIndex = lost
    library.nvmlDeviceGetComputeRunningProcesses = lost
    monkeypatch.setitem(sys.modules, "pynvml", library)


@pytest.mark.usefixtures("gone")
@pytest.mark.parametrize("visible", ["GPU-2", "MIG-2", "2"])
def test_a_visible_device_that_is_not_here_is_a_reason(monkeypatch, visible):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus.nvidia_devices() == ([], f"NVML gives no GPU {visible}: GPU is lost")


@pytest.mark.usefixtures("gone")
def test_a_card_that_is_lost_has_a_reason_in_place_of_each_value():
    reason = "NVML gives no GPU GPU-2: GPU is lost"
    assert gpu_state("cuda", "GPU-2") == {"reasons": {"all": reason}}
    assert memory_of_process("GPU-2") == (None, reason)
    [found] = occupancy([{"kind": "cuda", "uuid": "GPU-2"}])
    assert in_use(found)[0] is None
