"""The seconds of a run: collected from its recorders and written once they are over."""

from collections.abc import Callable, Iterator, Sequence

import gevent

from campaigns.domain.metrics.snapshot import Second, Timing, Total
from workers.injector.attempt import Worker
from workers.injector.connection import NS, Dialler, now
from workers.injector.crew import Crew
from workers.injector.recorder import NEVER
from workers.injector.vitals import HubLag, VitalsReader

TICK_S = 0.01
_STEP_S = 0.003
# Where requests are due all along, a step is put off only so many times.
_MOST_PUT_OFF = 6
# Of a timer: in a turn of the hub it comes after what has arrived.
AFTER_REPLIES = -1


def in_flight_of(workers: Sequence[Worker]) -> list[Worker]:
    return [worker for worker in workers if worker.began]


class Seconds:
    """`total` adds up what was written; `workers` may grow while the load is sent.

    A second that is over is counted first, because only then is it known what is in flight. Making
    its timings takes longer. All of it happens in steps, between which the hub serves the load, and
    which begin where they keep no request and no reply waiting, as far as that can be known.
    """

    def __init__(
        self,
        crew: Crew,
        dialler: Dialler,
        workers: Sequence[Worker],
        write: Callable[[Second], None],
        is_calm: Callable[[int], bool] = lambda _: True,
    ):
        """`is_calm`: of an instant, whether the load leaves the hub a moment for other work."""
        self._recorders, self._keeper = crew.recorders, crew.keeper
        self._oldest_ns = 0
        self._visits = crew.visits
        self._dialler = dialler
        self._workers = workers
        self._write = write
        self.hub_lag = HubLag(int(TICK_S * NS))
        self._vitals: VitalsReader | None = None
        self._note_vitals: Callable[[VitalsReader], None] = lambda _: None
        self._next_second = 0
        self._zero_ns, self._until_ns = 0, NEVER
        self._steps: Iterator[None] = iter(())
        self._is_calm = is_calm
        self._n_put_off = 0
        self._timer = gevent.get_hub().loop.timer(_STEP_S, _STEP_S, priority=AFTER_REPLIES)
        self.total = Total()

    def begin(self, zero_ns: int, warm_up_s: int, until_ns: int = NEVER) -> None:
        """`zero_ns`: when second 0 begins; `until_ns`: when the measured time ends, if known."""
        self._next_second = -warm_up_s
        self._zero_ns = zero_ns
        for recorder in self._recorders:
            recorder.zero_ns = zero_ns
        self.end_measuring(until_ns)

    def end_measuring(self, instant: int) -> None:
        """Nothing that ended later was counted yet: from now on it is the tail."""
        self._until_ns = min(instant, self._until_ns)
        for recorder in (*self._recorders, *(visits for _, visits in self._visits)):
            recorder.until_ns = self._until_ns

    def times_us(self) -> dict[str, int]:
        """What an end line says of them, on the machine's clock."""
        last_end_ns = max(recorder.last_end_ns for recorder in self._recorders)
        last_start_ns = max(recorder.last_start_ns for recorder in self._recorders)
        until_ns = max(self._zero_ns, self._until_ns)
        spans_ns = {
            "duration_us": last_end_ns - self._zero_ns,
            "sending_us": last_start_ns - self._zero_ns,
            "measured_us": min(until_ns, last_end_ns) - self._zero_ns,
            "tail_us": last_end_ns - until_ns,
        }
        return {name: max(0, span_ns) // 1000 for name, span_ns in spans_ns.items()}

    def watch(self, note: Callable[[VitalsReader], None] = lambda _: None) -> None:
        """Start measuring the vitals; `note` may look at each second's."""
        self._vitals = VitalsReader()
        self._note_vitals = note

    def tick(self) -> None:
        """Every TICK_S of the hub's time."""
        self.hub_lag.tick(now())
        self._dialler.reads.tick()

    def sweep(self, instant: int) -> None:
        for recorder in self._recorders:
            recorder.compact_if_long()
        if self._vitals is not None:
            self._finish_seconds(instant)

    def end(self, dropped: int) -> None:
        """Write everything; `dropped` arrivals were never sent, and count in the last second."""
        self._dialler.count_open(w.connection for w in self._workers if w.connection)
        self._finish_seconds(now())
        self._finish_steps()
        # What is left; the last second is usually incomplete.
        for worker in self._workers:
            worker.settle()
        for recorder in self._recorders:
            recorder.compact()
        recorders = (*self._recorders, *(visits for _, visits in self._visits))
        last_seconds = [r.last_second for r in recorders if r.last_second is not None]
        is_left = dropped or self._dialler.has_wire
        last = max(last_seconds, default=self._next_second if is_left else self._next_second - 1)
        while self._next_second <= last:
            self._finish_second(dropped if self._next_second == last else 0)
        self._finish_steps()
        self._timer.close()
        self._vitals.close()

    def _finish_seconds(self, instant: int) -> None:
        """Write every second that is over and in which no attempt is held back any more."""
        doubts = (w.held_end for w in self._workers if w.is_winding_down)
        until = min((end for end in doubts if end is not None), default=instant)
        while self._recorders[0].seconds_of(min(until, instant)) > self._next_second:
            self._finish_second()

    def _finish_second(self, dropped: int = 0) -> None:
        self._finish_steps()
        self._steps = self._hand_out(self._next_second, dropped)
        self._next_second += 1
        self._timer.start(self._step)
        self._step()

    def _step(self) -> None:
        if self._n_put_off < _MOST_PUT_OFF and not self._is_calm(now()):
            self._n_put_off += 1
            return
        self._n_put_off = 0
        if next(self._steps, self) is self:
            self._timer.stop()

    def _finish_steps(self) -> None:
        """Finish what is left of the previous second at once."""
        self._timer.stop()
        for _ in self._steps:
            pass

    def _count(self, number: int, dropped: int) -> list[Second]:
        """One row per recorder; their timings are not complete yet."""
        for worker in self._workers:
            if not worker.is_winding_down:
                worker.settle()
        parting = [worker for worker in self._workers if worker.is_winding_down]
        under_way = in_flight_of(self._workers)
        self._oldest_ns = now()
        rows = []
        for recorder in self._recorders:
            recorder.gather()
            starts = [start for worker in under_way for start in worker.starts_of(recorder)]
            starts += [
                worker.doubtful_start
                for worker in parting
                if worker.latest_row is not None and worker.request.recorder is recorder
            ]
            self._oldest_ns = min([self._oldest_ns, *starts])
            rows.append(recorder.finish(number, starts, 0 if recorder.step else dropped))
        rows[0].counters.update(self._dialler.take_wire())
        for step, visits in self._visits:
            counters, timings = visits.take(number)
            rows[step].counters.update(counters)
            rows[step].timings.update(timings)
        return rows

    def _hand_out(self, number: int, dropped: int) -> Iterator[None]:
        rows = self._count(number, dropped)
        yield
        for recorder in self._recorders:
            recorder.make_timings(rows[0].second)
            yield
        oldest_starts = (recorder.oldest_untimed_ns for recorder in self._recorders)
        self._keeper.settle(min(self._oldest_ns, *oldest_starts))
        lags = self.hub_lag.take()
        rows[0].vitals = self._vitals.take(
            hub_lag_max_us=max(lags, default=0),
            lateness_p99_us=_p99_us(rows, "lateness"),
            own_delay_p99_us=_p99_us(rows, "own_delay"),
            open_connections=self._dialler.n_open,
        )
        if lags:
            rows[0].timings["hub_lag"] = Timing.of(lags)
        for row in rows:
            yield
            if row.step == 0 or row.counters or row.in_flight:
                self.total.add(Second(row.second, row.step, row.counters, row.errors))
                self._write(row)
        yield
        self._note_vitals(self._vitals)


def _p99_us(rows: list[Second], name: str) -> float:
    timing = Timing()
    for row in rows:
        timing = timing.merged(row.timings.get(name) or Timing())
    return timing.percentile_us(99_000) or 0.0
