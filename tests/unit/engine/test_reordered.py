"""bf16 linear layers in oneDNN's layout: the same numbers from the same model."""

import copy

import pytest

from atpar.engine.reordered import reorder_linear

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not torch.ops.mkldnn._is_mkldnn_bf16_supported(), reason="oneDNN multiplies no bf16 here"
)


class Small(torch.nn.Module):
    """Two layers with and without a bias, one of another type, and a weight that is shared."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first = torch.nn.Linear(48, 96)
        self.second = torch.nn.Linear(96, 48, bias=False)
        self.tied, self.lookup = torch.nn.Linear(48, 20, bias=False), torch.nn.Embedding(20, 48)
        self.tied.weight = self.lookup.weight
        self.to(torch.bfloat16)
        self.precise = torch.nn.Linear(20, 4)

    def forward(self, tokens):
        return self.precise(self.tied(self.second(self.first(tokens).relu())).float())


def reorder(model):
    """Reorder with a probe of the model."""
    tokens = torch.ones(8, 48, dtype=torch.bfloat16)

    def probe():
        with torch.inference_mode():
            return model(tokens)

    return reorder_linear(model, probe)


@pytest.mark.parametrize("shape", [(1, 48), (7, 48), (3, 5, 48), (2, 300, 48)])
def test_the_results_are_equal_to_the_last_bit(shape):
    plain = Small().eval()
    reordered = copy.deepcopy(plain)
    assert reorder(reordered) == ["weights of 2 linear layers are kept in oneDNN's layout"]
    tokens = torch.randn(shape).to(torch.bfloat16)
    with torch.inference_mode():
        assert torch.equal(plain(tokens), reordered(tokens))


def test_one_copy_of_each_weight_is_kept_with_its_type_and_size():
    model = Small()
    before = {name: (one.dtype, one.shape) for name, one in model.named_parameters()}
    reorder(model)
    assert {name: (one.dtype, one.shape) for name, one in model.named_parameters()} == before
    assert model.first.weight.is_mkldnn
    assert not model.precise.weight.is_mkldnn
    assert model.tied.weight is model.lookup.weight
    assert not model.tied.weight.is_mkldnn


def test_a_cpu_without_such_products_keeps_its_layers(monkeypatch):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    model = Small()
    assert reorder(model) == []
    assert not model.first.weight.is_mkldnn


class ReadsWeights(Small):
    """A model that cuts a weight to pieces by itself."""

    def forward(self, tokens):
        half = self.first.weight.chunk(2)[0]
        return super().forward(tokens) + (tokens @ half.T).sum()


class Drifts(Small):
    """A model whose results depend on how a layer keeps its weight."""

    def forward(self, tokens):
        return super().forward(tokens) + float(self.first.weight.is_mkldnn)


@pytest.mark.parametrize("kind", [ReadsWeights, Drifts])
def test_a_model_that_reordering_would_change_is_put_back(kind):
    plain = kind().eval()
    tried = copy.deepcopy(plain)
    assert reorder(tried) == []
    tokens = torch.randn(5, 48).to(torch.bfloat16)
    with torch.inference_mode():
        assert torch.equal(plain(tokens), tried(tokens))
    assert "forward" not in tried.first.__dict__
