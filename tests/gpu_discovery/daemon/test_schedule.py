from __future__ import annotations

import math

import pytest

from gpu_discovery.daemon import schedule as schedules


def make_schedule(interval_s=60.0):
    """A schedule after a good pass at 0."""
    schedule = schedules.Schedule(interval_s, 0.0)
    schedule.pass_ended(0.0, is_retried=False)
    return schedule


def test_a_pass_is_due_at_once_and_then_after_the_interval():
    """The start, and an undisturbed node."""
    assert schedules.Schedule(60.0, 5.0).pass_at == 5.0
    assert make_schedule().pass_at == 60.0
    assert make_schedule(math.inf).pass_at == math.inf


def test_looks_come_every_two_seconds():
    """After a pass, and after a look that saw nothing."""
    schedule = make_schedule()
    assert schedule.look_at == 2.0
    schedule.looked(2.0, has_changed=False)
    assert (schedule.look_at, schedule.pass_at) == (4.0, 60.0)


def test_one_change_is_published_within_five_seconds():
    """Seen by the next look, then a moment of quiet: also with an infinite interval."""
    schedule = make_schedule(math.inf)
    schedule.looked(2.0, has_changed=True)
    assert schedule.pass_at == 2.5


def test_changes_in_a_row_cost_one_pass_and_do_not_put_it_off_for_long():
    """A driver that comes up in steps: looks go on, the pass waits for quiet but at most two seconds."""
    schedule = make_schedule()
    now = 2.0
    while now < schedule.pass_at:
        schedule.looked(now, has_changed=True)
        now = schedule.look_at
    assert schedule.pass_at == 4.0
    schedule.pass_ended(4.0, is_retried=False)
    assert schedule.pass_at == 64.0


def test_a_change_does_not_put_off_a_pass_that_is_due_anyway():
    """The earlier of the two."""
    schedule = make_schedule(2.1)
    schedule.looked(2.0, has_changed=True)
    assert schedule.pass_at == 2.1


def test_the_kernel_can_hurry_a_look_but_not_make_it_busy():
    """However many events come, looks keep a distance."""
    schedule = make_schedule()
    schedule.hurry(1.0)
    assert schedule.look_at == 1.0
    schedule.looked(1.0, has_changed=False)
    schedule.hurry(1.01)
    assert schedule.look_at == 1.25


def test_failures_are_retried_with_back_off_up_to_the_interval():
    """1, 2, 4, 8, then the interval; a good pass starts over."""
    schedule, now, waits = schedules.Schedule(10.0, 0.0), 0.0, []
    for _ in range(6):
        schedule.pass_ended(now, is_retried=True)
        waits.append(schedule.pass_at - now)
        now = schedule.pass_at
    assert waits == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    schedule.pass_ended(now, is_retried=False)
    assert schedule.pass_at - now == 10.0
    schedule.pass_ended(now, is_retried=True)
    assert schedule.pass_at - now == 1.0


def test_failures_are_retried_with_an_infinite_interval_too():
    """At most a minute apart, however long it lasts."""
    schedule = schedules.Schedule(math.inf, 0.0)
    for _ in range(100):
        schedule.pass_ended(0.0, is_retried=True)
    assert schedule.pass_at == schedules.LONGEST_RETRY_S


@pytest.mark.parametrize("is_retried", [False, True])
def test_a_pass_can_ask_for_the_next_one_sooner(is_retried):
    """A layout that only a pass can see, or a file that must be refreshed."""
    schedule = schedules.Schedule(math.inf, 0.0)
    for _ in range(10):
        schedule.pass_ended(0.0, is_retried=is_retried, most_s=4.0)
    assert schedule.pass_at == 4.0


def test_somebody_can_ask_for_a_pass():
    """After a reload."""
    schedule = make_schedule()
    schedule.pass_now(3.0)
    assert schedule.pass_at == 3.0
