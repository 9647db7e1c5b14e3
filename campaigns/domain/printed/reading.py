"""The one door for a tool's output: which tool printed it, and what it says."""

from dataclasses import replace

from campaigns.domain.printed.gnu_time import begins_time, read_time
from campaigns.domain.printed.lines import LONGEST_LINE, lines_of, not_understood, refused
from campaigns.domain.printed.output import PrintedOutput
from campaigns.domain.printed.perf_stat import begins_perf_stat, read_perf_stat
from campaigns.domain.printed.sadf import read_sadf
from campaigns.domain.printed.sar import begins_sar, read_sar
from campaigns.domain.printed.vmstat import begins_vmstat, read_vmstat
from campaigns.domain.units import size

MOST_BYTES = 1_000_000
_READERS = (
    (begins_perf_stat, read_perf_stat),
    (begins_vmstat, read_vmstat),
    (begins_time, read_time),
    (begins_sar, read_sar),
)


def read_output(text: str) -> PrintedOutput:
    """Raises InvalidFields with the number and the text of the line that was not understood.

    Before the tool's first line may be what the measured program printed, and the shell's line.
    """
    _refuse_other_than_text(text)
    if text.lstrip().startswith("{"):
        return _with_figures(read_sadf(text))
    lines = lines_of(text)
    for line in lines:
        if len(line.text) > LONGEST_LINE:
            raise not_understood(line)
    for index, line in enumerate(lines):
        for begins, read in _READERS:
            if begins(line.text):
                before = lines[:index]
                found = read(before, lines[index:])
                kept = [each.text for each in before if not each.is_blank and not each.is_prompt]
                kept = [each for each in kept if not each.startswith("# started on")]
                return _with_figures(replace(found, unknown=(*kept, *found.unknown)))
    first = (line for line in lines if not line.is_blank and not line.is_prompt)
    raise not_understood(next(first, lines[0]))


def _refuse_other_than_text(text: str) -> None:
    n_bytes = len(text.encode(errors="replace"))
    if n_bytes > MOST_BYTES:
        raise refused(
            f"This is {size(n_bytes, MOST_BYTES)}, and at most {size(MOST_BYTES)} is kept. "
            "Choose a shorter time or a longer interval."
        )
    if not text.strip():
        raise refused("This is empty. Paste the output of perf stat, vmstat, sar or time -v.")
    if "\x00" in text:
        number = text[: text.index("\x00")].count("\n") + 1
        raise refused(f"Line {number} has a NUL character, so this is not text. Paste text.")
    if any("\ud800" <= each <= "\udfff" for each in text):
        raise refused("This has half of a surrogate pair, so it is not text. Paste text.")


def _with_figures(output: PrintedOutput) -> PrintedOutput:
    if not output.values:
        raise refused(f"This output of {output.tool} has no figures. Paste all that it printed.")
    return output
