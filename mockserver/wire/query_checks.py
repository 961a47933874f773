"""What stands in a query and is read other than it is written: a parameter without a value counts
as absent, and a plus sign that was not escaped, which decodes to a blank, as that of a time zone.

Without its value a parameter widens what a call does: ``?amount=`` refunds all that is left,
``?Reference=`` lists everything. The assumptions ``request.blank_query`` and ``request.raw_plus``
say what is read and what is refused; the finding ``query-not-as-written`` tells of both.
"""

import re
from collections.abc import Iterable

from mockserver.domain.reading import query_pairs
from mockserver.domain.record import record
from mockserver.wire.dates import has_blank_for_plus
from mockserver.wire.fields import Body, spellings_of

_MAY_BE_MISREAD = re.compile(rb"(?:^|&)[^=&]+=?(?:&|$)|\+|%20")
"""What is in every query with a blank parameter, or a blank in a value; most queries have neither,
and are looked at no further."""

BLANK = "got no value, wanted one, or no such parameter"
RAW_PLUS = "got a blank before the zone of a date, wanted its plus sign escaped as %2B"


@record
class MisreadParameter:
    """One parameter under its usual name: it has no value (``is_blank``), or else a raw plus sign.
    ``is_money`` says that it is an amount."""

    name: str
    is_blank: bool
    is_money: bool = False

    @property
    def words(self) -> str:
        """What was got, and what is wanted."""
        return BLANK if self.is_blank else RAW_PLUS

    @property
    def assumption(self) -> str:
        """The assumption that says whether it is refused."""
        return "request.blank_query" if self.is_blank else "request.raw_plus"

    @property
    def refusal(self) -> str:
        """The words of a refusal."""
        return f"{self.words} (the assumption {self.assumption} reads both)"


def misread_in(model: type[Body], query: bytes) -> list[MisreadParameter]:
    """The parameters of a query that are read other than they are written, in their order."""
    if not query or _MAY_BE_MISREAD.search(query) is None:
        return []
    found: dict[str, MisreadParameter] = {}
    spellings = spellings_of(model)
    for name, value in query_pairs(query):
        spelling = spellings.get(name) or spellings.get(name.lower())
        if spelling is None or spelling.alias in found:
            continue
        if not value and spelling.alias not in model.may_be_blank:
            found[spelling.alias] = MisreadParameter(spelling.alias, True, spelling.number)
        elif spelling.moment and has_blank_for_plus(value):
            found[spelling.alias] = MisreadParameter(spelling.alias, False)
    return list(found.values())


def refused_among(
    misread: Iterable[MisreadParameter], blank_query: str, raw_plus: str, *, strict: bool
) -> list[MisreadParameter]:
    """Those that are refused under the answers of the two assumptions, with ``strict`` all."""
    if strict:
        return list(misread)
    return [parameter for parameter in misread if _is_refused(parameter, blank_query, raw_plus)]


def _is_refused(parameter: MisreadParameter, blank_query: str, raw_plus: str) -> bool:
    """Whether a parameter is refused under the answers of the two assumptions."""
    if not parameter.is_blank:
        return raw_plus == "refused"
    if blank_query == "amounts_refused":
        # A blank amount refunds all that is left; other blank parameters move no money.
        return parameter.is_money
    return blank_query == "refused"
