"""Seeds, states and generators."""

import pytest
import torch

DRAWS = {
    "rand": lambda d, g: torch.rand(5, device=d, generator=g),
    "randn": lambda d, g: torch.randn(5, device=d, generator=g),
    "randint": lambda d, g: torch.randint(0, 1000, (5,), device=d, generator=g),
    "randperm": lambda d, g: torch.randperm(50, device=d, generator=g),
    "bernoulli": lambda d, g: torch.bernoulli(torch.full((50,), 0.5, device=d), generator=g),
    "normal_": lambda d, g: torch.empty(5, device=d).normal_(1, 2, generator=g),
    "uniform_": lambda d, g: torch.empty(5, device=d).uniform_(generator=g),
    "multinomial": lambda d, g: torch.multinomial(torch.ones(20, device=d), 10, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_same_numbers_again_and_others_next(name, device):
    draw = DRAWS[name]
    torch.rdna.manual_seed(5)
    first, second = draw(device, None), draw(device, None)
    torch.rdna.manual_seed(5)
    assert torch.equal(draw(device, None).cpu(), first.cpu())
    assert not torch.equal(first.cpu(), second.cpu())


@pytest.mark.parametrize("name", DRAWS)
def test_generators_that_are_given_are_used(name, device):
    draw = DRAWS[name]
    torch.rdna.manual_seed(1)
    state = torch.rdna.get_rng_state()
    generator = torch.Generator(device=device).manual_seed(3)
    first = draw(device, generator)
    assert torch.equal(torch.rdna.get_rng_state(), state)
    assert torch.equal(draw(device, generator.manual_seed(3)).cpu(), first.cpu())


def test_the_seed_of_torch_reaches_every_device():
    torch.manual_seed(7)
    first = [torch.rand(3, device=f"rdna:{index}").cpu() for index in range(2)]
    torch.manual_seed(7)
    assert torch.equal(torch.rand(3, device="rdna:1").cpu(), first[1])
    assert torch.rdna.initial_seed() == 7
    torch.rdna.manual_seed_all(9)
    assert [torch.rdna.default_generator(index).initial_seed() for index in range(2)] == [9, 9]


def test_states_are_kept_and_put_back(device):
    torch.rdna.manual_seed(2)
    torch.rand(3, device=device)
    state = torch.rdna.get_rng_state()
    first = torch.rand(3, device=device)
    torch.rdna.set_rng_state(state)
    assert torch.equal(torch.rand(3, device=device).cpu(), first.cpu())
    states = torch.rdna.get_rng_state_all()
    torch.rand(3, device="rdna:1")
    torch.rdna.set_rng_state_all(states)
    assert torch.equal(torch.rdna.get_rng_state(1), states[1])
    with pytest.raises(RuntimeError, match="the state of an rdna generator is a contiguous CPU tensor of 16 bytes"):
        torch.rdna.set_rng_state(torch.zeros(3, dtype=torch.uint8))


def test_fork_rng_leaves_the_generator_where_it_was(device):
    state = torch.rdna.get_rng_state()
    with torch.random.fork_rng(devices=[0], device_type="rdna"):
        torch.rand(3, device=device)
    assert torch.equal(torch.rdna.get_rng_state(), state)


def test_generators_are_copied_with_their_state(device):
    generator = torch.Generator(device=device).manual_seed(4)
    torch.rand(2, device=device, generator=generator)
    copy = generator.clone_state()
    assert torch.equal(
        torch.rand(3, device=device, generator=generator).cpu(), torch.rand(3, device=device, generator=copy).cpu()
    )
    assert generator.device.type == "rdna"
    assert torch.rdna.default_generator(1).device == torch.device("rdna:1")


def test_seeds_that_nobody_can_foresee_differ():
    torch.rdna.seed()
    first = torch.rdna.initial_seed()
    torch.rdna.seed_all()
    assert torch.rdna.initial_seed() != first
    assert torch.rdna.default_generator(1).initial_seed() == torch.rdna.initial_seed()


def test_generators_of_other_devices_are_refused(device):
    with pytest.raises(RuntimeError, match="a generator of rdna is expected, not one of cpu"):
        torch.rand(3, device=device, generator=torch.Generator())
