from campaigns.domain.plan.blocks import Turn, order_of_runs


def test_each_block_runs_every_test_once():
    turns = order_of_runs(5, 20, is_random=True, seed=3)
    assert [turn.position for turn in turns] == list(range(1, 101))
    for repeat in range(1, 21):
        assert sorted(turn.test for turn in turns if turn.repeat == repeat) == [0, 1, 2, 3, 4]


def test_the_seed_decides_the_order():
    def tests(seed):
        return [turn.test for turn in order_of_runs(8, 3, is_random=True, seed=seed)]

    assert tests(1) == tests(1) != tests(2)


def test_blocks_differ_from_each_other():
    turns = order_of_runs(8, 10, is_random=True, seed=1)
    blocks = {tuple(t.test for t in turns if t.repeat == repeat) for repeat in range(1, 11)}
    assert len(blocks) > 5


def test_as_listed_is_the_same_in_every_block():
    assert order_of_runs(2, 2, is_random=False, seed=1) == [
        Turn(1, 1, 0),
        Turn(2, 1, 1),
        Turn(3, 2, 0),
        Turn(4, 2, 1),
    ]
