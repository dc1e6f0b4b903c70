"""Timers by the thousand: they ring in order, stop in silence, and cost the loop next to nothing."""

import asyncio

from toolhaft.backends.timers import Timer


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop that does not wait: where it would, its clock jumps to the next timer."""

    def __init__(self):
        super().__init__()
        self.now, self._select = 0.0, self._selector.select
        self._selector.select = self._jump

    def time(self):
        return self.now

    def _jump(self, timeout):
        ready = self._select(0)
        if not ready and timeout:
            self.now += timeout + 1e-9
        return ready


def run(main):
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


class Ring(Timer):
    __slots__ = ("rung", "span_s")

    def __init__(self, loop, span_s, rung):
        self.span_s = span_s
        self.rung = rung
        self.begin(loop, span_s)

    def ring(self):
        self.rung.append(self.span_s)


def test_timers_ring_in_the_order_of_their_ends():
    async def main():
        loop, rung = asyncio.get_running_loop(), []
        timers = [Ring(loop, span, rung) for span in (0.03, 0.01, 0.02, 0.01)]
        await asyncio.sleep(0.06)
        assert timers
        return rung

    assert run(main()) == [0.01, 0.01, 0.02, 0.03]


def test_a_timer_that_was_stopped_does_not_ring():
    async def main():
        loop, rung = asyncio.get_running_loop(), []
        timers = [Ring(loop, 0.01, rung) for _ in range(4)]
        timers[0].stop()
        timers[2].stop()
        timers[2].stop()
        await asyncio.sleep(0.04)
        timers[1].stop()
        return len(rung)

    assert run(main()) == 2


def test_a_timer_rings_although_the_ones_before_it_were_stopped():
    async def main():
        loop, rung = asyncio.get_running_loop(), []
        first = Ring(loop, 0.01, rung)
        await asyncio.sleep(0.005)
        Ring(loop, 0.01, rung)
        first.stop()
        await asyncio.sleep(0.04)
        return rung

    assert run(main()) == [0.01]


def test_thousands_of_timers_need_one_timer_of_the_loop():
    """Equal spans share one timer of the loop's."""

    async def main():
        loop, rung = asyncio.get_running_loop(), []
        before = len(loop._scheduled)  # noqa: SLF001 -- how few are scheduled is the point
        timers = [Ring(loop, 60.0, rung) for _ in range(5000)]
        added = len(loop._scheduled) - before  # noqa: SLF001 -- the same
        for timer in timers:
            timer.stop()
        return added

    assert run(main()) <= 1


def test_timer_queues_of_unused_lengths_are_dropped():
    """Deadlines cut spans short, each time elsewhere: nothing grows without end."""

    async def main():
        loop, rung = asyncio.get_running_loop(), []
        for n in range(500):
            Ring(loop, 0.001 + n / 1e7, rung).stop()
        kept = [Ring(loop, 0.002 + n / 1e6, rung) for n in range(200)]
        await asyncio.sleep(0.05)
        return len(kept), len(rung)

    assert run(main()) == (200, 200)


def test_timers_share_a_queue_again_after_many_other_lengths():
    async def main():
        loop, rung = asyncio.get_running_loop(), []
        for n in range(500):
            Ring(loop, 10.0 + n, rung).stop()
        before = len(loop._scheduled)  # noqa: SLF001 -- how few are scheduled is the point
        timers = [Ring(loop, 5.0, rung) for _ in range(100)]
        added = len(loop._scheduled) - before  # noqa: SLF001 -- the same
        for timer in timers:
            timer.stop()
        return added

    assert run(main()) == 1
