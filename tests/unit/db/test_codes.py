"""Fault codes: what is one code and what must stay two."""

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from db.codes import comparable, fingerprint, normalise

SEPARATORS = " \t\u3000-_:#.\u2010\u2011\u2013\u2014\u2212\uff0d\uff1a\uff0e\uff3f"
codes = st.text(max_size=100) | st.text(alphabet="Eer10.-_ #:\uff25\u2013A", max_size=100)
plain_codes = st.from_regex(r"[A-Z]{0,3}[0-9]{1,6}", fullmatch=True)


@pytest.mark.parametrize(
    "written",
    [
        "E401", "e401", "E-401", "Err 401", "ERR_401", "Error:401", "\uff25\uff14\uff10\uff11", "E401.0",
        " E401 ", "E 401", "E\u2013401", "E\u2212401", "E#401", "E.401", "error 401", "ERR401", "E401.00",
        "err\uff1a401", "E\u00a0401", "E401:", "\ufeffE401", "E\u200b401", "error - 401.0",
    ],
)  # fmt: skip
def test_the_ways_to_write_e401_are_one_code(written: str) -> None:
    assert normalise(written) == "E401"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("E40", "E401"), ("E4010", "E401"), ("E0401", "E401"), ("0401", "401"), ("E40.1", "E401"),
        ("E40-1", "E401"), ("1-11", "11-1"), ("-113", "113"), ("E401.0.1", "E401.1"), ("10", "1"),
        ("E401.10", "E401.1"), ("F401", "E401"), ("ERRA401", "EA401"), ("1.0.0", "1"),
    ],
)  # fmt: skip
def test_codes_that_may_be_two_stay_two(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("0401", "0401"), ("401.0", "401"), ("#401", "401"), ("SRVO-001", "SRVO001"), ("40 - 1", "40-1"),
        ("EMG  STOP", "EMG-STOP"), ("-113", "-113"), ("40.1", "40.1"), ("报警-12", "报警12"),
        ("#:", "#:"), ("", ""), ("  ", ""), ("\u3000", ""), ("E401-A", "E401A"), ("ERROR", "ERROR"),
    ],
)  # fmt: skip
def test_a_code_becomes_its_key(written: str, key: str) -> None:
    assert normalise(written) == key


@given(codes)
@example("\ufdfa" * 100)
@example("\u2460." * 50)
@example("\u0390" * 34)
@example("\ud800")
@example("1" * 101)
@example("ERR" + "-" * 90 + "4.0")
def test_a_key_is_short_never_empty_and_the_same_when_made_again(code: str) -> None:
    key = normalise(code)
    assert len(key) <= 100
    assert bool(key) == bool(code.strip())
    assert normalise(key) == key


@given(st.text(alphabet="ABCDFGHXYZ", min_size=1, max_size=8), st.integers(0, 10**8), st.data())
def test_separators_width_and_case_do_not_matter_between_letters_and_digits(
    letters: str, number: int, data: st.DataObject
) -> None:
    between = data.draw(st.text(alphabet=SEPARATORS, max_size=4))
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in letters)
    written = data.draw(st.sampled_from([letters, letters.lower(), wide]))
    assert normalise(f"{written}{between}{number}") == f"{letters}{number}"


@given(
    st.from_regex(r"[A-Z]{0,3}[0-9]{1,6}", fullmatch=True),
    st.from_regex(r"[A-Z]{0,3}[0-9]{1,6}", fullmatch=True),
)
def test_plain_codes_are_one_only_when_they_are_written_alike(one: str, other: str) -> None:
    def as_meant(code: str) -> str:
        return "E" + code[3:] if code.startswith("ERR") else code

    assert (normalise(one) == normalise(other)) == (as_meant(one) == as_meant(other))


def test_long_codes_with_a_common_beginning_stay_two() -> None:
    one, other = normalise("\ufdfa" * 40 + "1"), normalise("\ufdfa" * 40 + "2")
    assert one != other
    assert len(one) == len(other) == 100


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SMT Line 1", "smt-line1"), ("\uff33\uff2d\uff34 Line 1", "SMT_LINE_1"), ("螺丝 M3", "螺丝M3"),
        ("2.2 kW", "2.2KW"), ("6205-2RS", "6205\u20132rs"),
    ],
)  # fmt: skip
def test_names_that_are_written_differently_compare_equal(one: str, other: str) -> None:
    assert comparable(one) == comparable(other)


@pytest.mark.parametrize(
    ("one", "other"), [("2.2KW", "22KW"), ("Line 1-1", "Line 11"), ("M3.5", "M3-5"), ("A", "B")]
)
def test_names_that_differ_in_more_than_writing_stay_two(one: str, other: str) -> None:
    assert comparable(one) != comparable(other)


@given(st.text(max_size=200))
@example("\ufdfa" * 200)
@example("\u1e9e\u0130 \u01c5-")
def test_a_comparable_name_is_short_never_empty_and_the_same_when_made_again(name: str) -> None:
    key = comparable(name)
    assert len(key) <= 200
    assert bool(key) == bool(name.strip())
    assert comparable(key) == key


def test_a_fingerprint_is_of_the_line_the_equipment_and_the_code() -> None:
    here = fingerprint("交互屏组装A线", "交互屏贴合机A1", "E401")
    assert len(here) == 64
    assert set(here) <= set("0123456789abcdef")
    assert here == fingerprint("交互屏组装a线", "交互屏贴合机A1 ", "err 401")
    assert here != fingerprint("交互屏组装B线", "交互屏贴合机A1", "E401")
    assert here != fingerprint("交互屏组装A线", "", "E401")
    assert here != fingerprint("交互屏组装A线", "交互屏贴合机A1", "E402")


def test_the_parts_of_a_fingerprint_cannot_run_into_one_another() -> None:
    assert fingerprint("a", "bc", "1") != fingerprint("ab", "c", "1")


def test_a_fingerprint_is_the_same_in_another_process() -> None:
    program = "from db.codes import fingerprint; print(fingerprint('SMT Line 1', 'P1', 'F210'))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.strip() == fingerprint("SMT Line 1", "P1", "F210")
