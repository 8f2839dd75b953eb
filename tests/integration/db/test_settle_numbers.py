"""Order numbers follow each other without a gap or a double, whoever settles at the same time."""

from datetime import UTC, date, datetime, timedelta

from sqlalchemy import func, select

from db.models import (
    Alarm,
    FollowUp,
    OrderCounter,
    StatusChange,
    Step,
    WorkOrder,
    WorkOrderPart,
)
from db.models.alarm import AlarmStatus
from db.queries.alarms.settle import settle
from db.session import Database
from tests.helpers.support import (
    NOW,
    ZONE,
    accepted,
    an_alarm,
    an_order,
    at_once,
    broken_off,
    claimed,
    count,
    settled,
)


def test_the_same_settlement_in_sixteen_threads_is_one_order(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    ids = at_once(lambda _: settled(database, row, attempt), range(16))
    assert set(ids) == {"WO-20260804-0001"}
    assert count(database, WorkOrder) == 1
    assert count(database, Step) == 4


def test_twenty_threads_settle_two_hundred_orders_without_a_gap_or_a_double(database: Database) -> None:
    rows = accepted(database, *(an_alarm() for _ in range(200)))
    attempts = {row: claimed(database, row) for row in rows}

    def work(number: int) -> list[str]:
        made = []
        for row in rows[number::20]:
            if row % 7 == 0:  # an attempt that breaks off after it has taken its number
                with broken_off(database) as session:
                    settle(session, row, attempts[row], an_order(), NOW, ZONE)
            made.append(settled(database, row, attempts[row]))
        return made

    made = [order_id for each in at_once(work, range(20)) for order_id in each]
    assert sorted(made) == [f"WO-20260804-{number:04}" for number in range(1, 201)]
    with database.reading() as session:
        assert sorted(session.scalars(select(WorkOrder.sequence)).all()) == list(range(1, 201))
        assert session.scalars(select(OrderCounter.last)).all() == [200]
        ends = select(Alarm.status, func.count(Alarm.work_order_id.distinct())).group_by(Alarm.status)
        assert [tuple(end) for end in session.execute(ends)] == [(AlarmStatus.SETTLED, 200)]


def test_a_settlement_that_is_rolled_back_leaves_nothing_and_no_gap(database: Database) -> None:
    first, second = accepted(database, an_alarm(), an_alarm())
    attempts = [claimed(database, row) for row in (first, second)]
    with broken_off(database) as session:
        assert settle(session, first, attempts[0], an_order(), NOW, ZONE) == "WO-20260804-0001"
    for table in (WorkOrder, Step, WorkOrderPart, StatusChange, FollowUp, OrderCounter):
        assert count(database, table) == 0
    with database.reading() as session:
        assert session.get_one(Alarm, first).status is AlarmStatus.RUNNING
    assert settled(database, second, attempts[1]) == "WO-20260804-0001"
    assert settled(database, first, attempts[0]) == "WO-20260804-0002"


def test_a_number_past_9999_grows(database: Database) -> None:
    rows = accepted(database, *(an_alarm() for _ in range(3)))
    with database.writing() as session:
        session.add(OrderCounter(plant_date=date(2026, 8, 4), last=9998))
    made = [settled(database, row, claimed(database, row)) for row in rows]
    assert made == ["WO-20260804-9999", "WO-20260804-10000", "WO-20260804-10001"]


def test_numbers_begin_anew_at_midnight_in_the_plant(database: Database) -> None:
    midnight = datetime(2026, 8, 4, 16, 0, tzinfo=UTC)  # 00:00 in Shanghai on the 5th
    moments = [midnight - timedelta(microseconds=1), midnight, midnight + timedelta(hours=8)]
    made = []
    for moment in moments:
        [row] = accepted(database, an_alarm(), now=moment)
        made.append(settled(database, row, claimed(database, row, now=moment), now=moment))
    assert made == ["WO-20260804-0001", "WO-20260805-0001", "WO-20260805-0002"]
