import pytest
import torch

from sk_anyloss.training.schedules import CosineDecay, initial_rate


@pytest.mark.parametrize("epochs", [1, 7, 100])
def test_the_decay_is_torchs_cosine_at_the_middle_of_each_epoch(epochs):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.03)
    # Two steps of torch's schedule per epoch, of which the odd ones are the middles.
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2 * epochs)
    for epoch in range(epochs):
        optimizer.step()
        schedule.step()
        found = 0.03 * CosineDecay(0.03).factor((epoch + 0.5) / epochs)
        assert found == pytest.approx(schedule.get_last_lr()[0], rel=1e-9, abs=1e-12)
        optimizer.step()
        schedule.step()


def test_the_initial_rate_of_a_constant_is_the_constant():
    assert initial_rate(0.1) == 0.1
    assert initial_rate(CosineDecay(0.2)) == 0.2


def test_equal_schedules_are_equal_parameters():
    assert CosineDecay(0.1) == CosineDecay(0.1) != CosineDecay(0.2)
    assert eval(repr(CosineDecay(0.1))) == CosineDecay(0.1)
