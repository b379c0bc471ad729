"""A model's weights don't change, or vanish, with the file that they were loaded from."""

import pytest

from atpar.engine.owned import own_weights

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")


class Small(torch.nn.Module):
    """A layer whose weight another one shares, and a buffer."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 64)
        self.second = torch.nn.Linear(64, 64, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("scale", torch.ones(64))

    def forward(self, tokens):
        return self.second(self.first(tokens)) * self.scale


@pytest.fixture
def mapped(tmp_path):
    """Return a model whose weights lie in a mapped file, and the file."""
    path, model = tmp_path / "model.safetensors", Small()
    safetensors.save_file({name: one.clone() for name, one in model.state_dict().items()}, path)
    found = safetensors.load_file(path)
    model.first.weight.data, model.first.bias.data = found["first.weight"], found["first.bias"]
    model.scale = found["scale"]
    if model.first.weight.untyped_storage().resizable():
        pytest.skip("this version of safetensors maps no file")
    return model, path


def test_a_file_that_is_written_over_changes_nothing(mapped):
    model, path = mapped
    own_weights(model)
    with torch.inference_mode():
        before = model(torch.ones(1, 64))
        # In place, as `cp` and `rsync --inplace` do it: the file stays the mapped one.
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
        assert torch.equal(model(torch.ones(1, 64)), before)


def test_a_file_that_is_cut_ends_nothing(mapped):
    model, path = mapped
    own_weights(model)
    with path.open("r+b") as file:
        file.truncate(0)
    with torch.inference_mode():
        assert torch.isfinite(model(torch.ones(1, 64))).all()


def test_weights_stay_shared_and_are_aligned(mapped):
    model, _ = mapped
    own_weights(model)
    assert model.second.weight is model.first.weight
    assert {one.data_ptr() % 64 for one in model.parameters()} == {0}


def test_what_is_torchs_own_is_not_copied(mapped):
    model, _ = mapped
    own_weights(model)
    before = [one.data_ptr() for one in model.state_dict().values()]
    own_weights(model)
    assert [one.data_ptr() for one in model.state_dict().values()] == before
