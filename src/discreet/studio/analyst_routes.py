"""The analyst's pages: release files in, posteriors, reports and draws out. Nothing here reaches rows."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from discreet.inference.posterior import Posterior
from discreet.studio import open_readings as readings
from discreet.studio import take_away
from discreet.studio.open_readings import Reading
from discreet.studio.pages import Refused, Visit, route


def _all(visit: Visit) -> Response:
    return visit.page("read.html", readings=list(visit.session.readings.values()))


def _drop(visit: Visit) -> Response:
    with visit.session.lock:
        made = [
            readings.add(visit.session.readings, name, content) for name, content in visit.files if content
        ]
    return visit.to(f"/read/{made[0].name}" if len(made) == 1 else "/read")


def _close(visit: Visit) -> Response:
    with visit.session.lock:
        visit.session.readings.pop(visit.part("name"), None)
    return visit.to("/read")


def _one(visit: Visit) -> Response:
    return visit.page("reading.html", **_told(_found(visit)))


def _prior(visit: Visit) -> Response:
    reading = _found(visit)
    with visit.session.lock:
        if visit.form.get("weak"):
            reading.prior = None
        else:
            reading.choose(visit.form)
    if visit.partial:
        return visit.page("reading_part.html", **_told(reading))
    return visit.to(f"/read/{reading.name}")


def _compare(visit: Visit) -> Response:
    reading = _found(visit)
    lines = readings.compared(reading, visit.form.get("one", ""), visit.form.get("other", ""))
    if visit.partial:
        return visit.page("compare_part.html", lines=lines)
    return visit.page("reading.html", **{**_told(reading), "lines": lines})


def _picture(visit: Visit) -> Response:
    return Response(readings.own_picture(_found(visit)), media_type="image/png")


def _report(visit: Visit) -> Response:
    reading = visit.request.query_params.get("of")
    chosen = list(visit.session.readings.values()) if reading is None else [_named(visit, reading)]
    if not chosen:
        raise Refused(404)
    return _attached(take_away.report_page(chosen), "report.html", "text/html")


def _taken(visit: Visit) -> Response:
    reading, kind = _found(visit), visit.part("kind")
    if kind == "csv":
        return _attached(take_away.draws_csv(reading), f"{reading.name}-draws.csv", "text/csv")
    if kind == "nc":
        return _attached(take_away.draws_netcdf(reading), f"{reading.name}-draws.nc", "application/x-netcdf")
    if kind == "py":
        return _attached(take_away.code([reading]), f"{reading.name}.py", "text/x-python")
    if kind == "ipynb":
        return _attached(take_away.notebook([reading]), f"{reading.name}.ipynb", "application/x-ipynb+json")
    raise Refused(404)


def _told(reading: Reading) -> dict[str, Any]:
    """Return everything that a reading's page shows, warnings first."""
    found = reading.posterior()
    groups = [] if isinstance(found, Posterior) else list(found)
    return {
        "reading": reading,
        "warnings": readings.warnings(reading),
        "rows": readings.answer(reading),
        "pictures": readings.pictures(reading),
        "sliders": reading.sliders(),
        "live": reading.is_live,
        "groups": groups,
        "sensitivity": readings.sensitivity(reading),
        "code": take_away.code([reading]),
        "statement": reading.release.statement(),
        "how": reading.together.diagnostics,
        "lines": [],
    }


def _found(visit: Visit) -> Reading:
    return _named(visit, visit.part("name"))


def _named(visit: Visit, name: str) -> Reading:
    found = visit.session.readings.get(name)
    if found is None:
        raise Refused(404)
    return found


def _attached(content: str | bytes, name: str, kind: str) -> Response:
    return Response(
        content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'}
    )


ROUTES = [
    route("/read", _all),
    route("/read/drop", _drop, "POST"),
    route("/read/report.html", _report),
    route("/read/{name}", _one),
    route("/read/{name}/close", _close, "POST"),
    route("/read/{name}/prior", _prior, "POST"),
    route("/read/{name}/compare", _compare, "POST"),
    route("/read/{name}/picture.png", _picture),
    route("/read/{name}/draws.{kind}", _taken),
]
