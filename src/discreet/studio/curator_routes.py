"""The curator's pages: from a table to release files, step by step. Only the marked page shows what rows hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from discreet.curator.check import NOTICE, check
from discreet.datasets import clinic_survey
from discreet.errors import DiscreetError, UsageError
from discreet.ledger import Ledger
from discreet.ledger.amounts import in_words
from discreet.ledger.history import history
from discreet.studio import plans, recipes, uploads
from discreet.studio.asked_questions import KINDS, NOISES, RULES, WITH_BOUNDS, read_question
from discreet.studio.drafts import Draft, Drafts, columns_of
from discreet.studio.pages import Forbidden, Refused, Visit, route
from discreet.studio.plans import Plans
from discreet.studio.publication import Publication, check_key, explained, statement

STEPS = ("data", "unit", "questions", "budget", "review", "done")
_MOST_STEPS = 30


def begin(studio: Any) -> None:
    """Make what the curator's pages hold while the studio runs."""
    drafts = Drafts(studio.folder / "drafts")
    studio.rooms |= {"drafts": drafts, "plans": Plans(), "publication": Publication(drafts, studio)}


def _drafts(visit: Visit) -> Drafts:
    return visit.studio.rooms["drafts"]


def _draft(visit: Visit) -> Draft:
    try:
        return _drafts(visit).load(visit.part("id"))
    except UsageError:
        raise Refused(404) from None


def _step(visit: Visit, step: str, draft: Draft, **values: Any) -> Response:
    return visit.page(f"{step}.html", draft=draft, step=step, steps=STEPS, **values)


def _new(visit: Visit) -> Response:
    return visit.to(f"/curate/{_drafts(visit).new().id}/data")


def _listed(visit: Visit) -> Response:
    return visit.page("drafts_part.html" if visit.partial else "drafts.html", drafts=_drafts(visit).listed())


def _remove(visit: Visit) -> Response:
    visit.studio.rooms["publication"].remove(_draft(visit).id)
    return visit.to("/")


# -- the table ----------------------------------------------------------------------------------------


def _data(visit: Visit) -> Response:
    draft = _draft(visit)
    if visit.request.method == "GET":
        return _step(visit, "data", draft, name=Path(draft.data).name)
    if visit.form.get("example"):
        data, table, records = str(clinic_survey()), "", 2500
    else:
        data, table, records = visit.said("data"), visit.said("table"), draft.records
    if not data:
        raise UsageError("name a file on this machine, or choose one.")
    _drafts(visit).choose_rows(draft.id, data, table, columns_of(data, table), records)
    return visit.to(f"/curate/{draft.id}/unit")


async def _upload(request: Request) -> Response:
    """Take a table's bytes; the answer says where to go on, or what is wrong."""
    if not request.scope["state"]["csrf_header"]:
        raise Forbidden(403)
    drafts: Drafts = request.scope["studio"].rooms["drafts"]
    base = request.scope["studio"].doors.base
    try:
        draft = drafts.load_open(request.path_params["id"])
        arrived = await uploads.stream_to(request, drafts.place(draft.id))
        try:
            columns = await run_in_threadpool(columns_of, str(arrived), "")
            drafts.take_rows(draft.id, arrived, columns)
        finally:
            arrived.unlink(missing_ok=True)
    except DiscreetError as problem:
        return JSONResponse({"error": problem.message, "hint": problem.hint}, 400)
    return JSONResponse({"next": f"{base}/curate/{draft.id}/unit"})


def _unit(visit: Visit) -> Response:
    draft = _draft(visit)
    if visit.request.method == "GET":
        return _step(visit, "unit", draft)
    unit = visit.form.get("unit", "")
    if unit and unit not in draft.columns:
        raise UsageError("choose a column of the table.")
    records = visit.said("records").replace(",", "").replace(".", "").strip()
    if not records.isdecimal() or not 2 <= int(records) <= 10**12:
        raise UsageError("say about how many records there are: a whole number of 2 or more.")
    neighbors = "add_remove" if visit.form.get("neighbors") == "add_remove" else "replace"
    _drafts(visit).change(draft.id, unit=unit, records=int(records), neighbors=neighbors)
    return visit.to(f"/curate/{draft.id}/questions")


# -- questions ----------------------------------------------------------------------------------------


def _questions(visit: Visit) -> Response:
    return _step(visit, "questions", _draft(visit), kinds=KINDS, **_asked(visit))


def _fields(visit: Visit) -> Response:
    return visit.page("fields_part.html", draft=_draft(visit), **_asked(visit))


def _asked(visit: Visit) -> dict[str, Any]:
    """Return which kind of question is asked, and what its form offers."""
    kind = visit.request.query_params.get("kind", "")
    return {
        "kind": kind if kind in KINDS else "",
        "rules": RULES,
        "with_bounds": WITH_BOUNDS,
        "noises": NOISES,
    }


def _ask(visit: Visit) -> Response:
    with _drafts(visit).lock:
        draft = _draft(visit)
        made = read_question(visit.form, draft.columns, [one.name for one in draft.questions])
        # all that can be refused is refused now
        explained(replace(draft, questions=(made,), ledger="", analyst=""), made)
        _drafts(visit).change(draft.id, questions=(*draft.questions, made))
    return visit.to(f"/curate/{draft.id}/questions")


def _drop_question(visit: Visit) -> Response:
    with _drafts(visit).lock:
        draft = _draft(visit)
        left = tuple(one for one in draft.questions if one.name != visit.form.get("name"))
        _drafts(visit).change(draft.id, questions=left)
    return visit.to(f"/curate/{draft.id}/questions")


# -- budget -------------------------------------------------------------------------------------------


def _budget(visit: Visit) -> Response:
    draft = _draft(visit)
    if visit.request.method == "GET":
        return _step(visit, "budget", draft, **_bought(visit, draft), **_account(draft))
    draft = _weighed(draft, visit)
    ledger, dataset, analyst, new = map(visit.said, ("ledger", "dataset", "analyst", "new_epsilon"))
    if ledger and "://" not in ledger:
        ledger = f"sqlite:///{ledger}"
    if ledger and not dataset:
        raise UsageError("name the data set that the ledger charges.")
    if ledger and new:
        allowed = draft.allowance(new)
        Ledger.create(ledger).open(dataset, allowed.for_unit(draft.unit) if draft.unit else allowed)
    elif ledger:
        Ledger(ledger).account(dataset)
    kept = {name: getattr(draft, name) for name in ("epsilon", "delta", "questions")}
    whom = analyst if ledger else ""
    _drafts(visit).change(draft.id, **kept, ledger=ledger, dataset=dataset, analyst=whom)
    return visit.to(f"/curate/{draft.id}/{'budget' if new or visit.form.get('stay') else 'review'}")


def _plan(visit: Visit) -> Response:
    """Answer a slider: the picture, what each question gets, and the risk; nothing is saved."""
    draft = _weighed(_draft(visit), visit)
    return visit.page("plan_part.html", draft=draft, **_bought(visit, draft))


def _weighed(draft: Draft, visit: Visit) -> Draft:
    """Return the draft with the budget and the weights of the form."""
    weights = {}
    for k, one in enumerate(draft.questions):
        said = visit.form.get(f"weight-{k}", str(one.weight))
        if not said.isdecimal() or not 1 <= int(said) <= 9:
            raise UsageError("a weight is a whole number from 1 to 9.")
        weights[one.name] = int(said)
    questions = tuple(replace(one, weight=weights[one.name]) for one in draft.questions)
    said = {name: visit.form.get(name, getattr(draft, name)).strip() for name in ("epsilon", "delta")}
    found = replace(draft, questions=questions, **said)
    _ = found.shares, found.deltas
    return found


def _bought(visit: Visit, draft: Draft) -> dict[str, Any]:
    if not draft.questions:
        return {"rows": [], "picture": "", "risk": [], "waiting": False}
    shares = {name: float(share) for name, share in draft.shares.items()}
    curves = visit.studio.rooms["plans"].curves(draft)
    return {
        "rows": plans.rows(draft.questions, curves, shares),
        "picture": plans.picture(curves, shares, visit.say("budget.picture")),
        "risk": plans.risk(draft),
        "waiting": any(curve is None for curve in curves.values()),
    }


def _account(draft: Draft) -> dict[str, Any]:
    """Return what the ledger says of the data set: what is left, and who spent what."""
    unknown = {"account": None, "left": "", "spending": [], "trouble": ""}
    if not draft.ledger:
        return unknown
    try:
        kept = Ledger(draft.ledger)
        account = kept.account(draft.dataset)
        steps = [one for one in history(kept) if one.dataset == draft.dataset][-_MOST_STEPS:]
    except DiscreetError as problem:
        return {**unknown, "trouble": problem.message}
    left = in_words(account.remaining, down=True)
    return {"account": account, "left": left, "spending": steps[::-1], "trouble": ""}


# -- review and release -------------------------------------------------------------------------------


def _review(visit: Visit) -> Response:
    draft = _draft(visit)
    if visit.request.method == "POST":
        key = visit.said("key")
        if key:
            check_key(draft, key)
        draft = _drafts(visit).change(draft.id, key=key)
        return visit.to(f"/curate/{draft.id}/review")
    if not draft.questions:
        return visit.to(f"/curate/{draft.id}/questions")
    told = [(one, explained(draft, one), statement(draft, one)) for one in draft.questions]
    return _step(
        visit, "review", draft, told=told, command=recipes.command_text(draft), risk=plans.risk(draft),
        python=recipes.python_text(draft), **_account(draft),
    )  # fmt: skip


def _release(visit: Visit) -> Response:
    draft = _draft(visit)
    visit.studio.rooms["publication"].begin(draft.id, visit.form.get("seal", ""))
    return visit.to(f"/curate/{draft.id}/done")


def _done(visit: Visit) -> Response:
    draft, drafts = _draft(visit), _drafts(visit)
    running = visit.studio.rooms["publication"].is_running(draft.id)
    files = {one.name: drafts.file(draft, one) for one in draft.questions}
    made = [
        (one, files[one.name].exists(), files[one.name].with_name(f"{one.name}.json.sig").exists())
        for one in draft.questions
    ]
    values = {"made": made, "running": running, "finished": drafts.is_finished(draft)}
    if visit.partial:
        return visit.page("done_part.html", draft=draft, **values)
    return _step(visit, "done", draft, **values)


def _file(visit: Visit) -> Response:
    draft, name = _draft(visit), visit.part("name")
    for one in draft.questions:
        path = _drafts(visit).file(draft, one)
        for made in (path, path.with_name(f"{path.name}.sig")):
            if name == made.name and path.exists() and made.exists():
                return FileResponse(made, media_type="application/json", filename=name)
    raise Refused(404)


def _private(visit: Visit) -> Response:
    """Show exact counts, on the one page that is marked private, and only when it was asked for."""
    draft = _draft(visit)
    if visit.request.method == "GET":
        return visit.page("private.html", draft=draft, notice=NOTICE, seen=None)
    seen = []
    for one in draft.questions:
        said = draft.declarations(one)
        given = {name: said[name] for name in ("column", "table") if name in said}
        if one.kind in WITH_BOUNDS:
            given["bounds"] = [(one.low, one.high)]
        found = check(draft.data, one.model(), **given)  # pyright: ignore[reportArgumentType, reportCallIssue]
        for column, each in found.items() if isinstance(found, dict) else ((one.column, found),):
            seen.append((one, column, each.lines, each.warnings))
    return visit.page("private.html", draft=draft, notice=NOTICE, seen=seen)


ROUTES = [
    route("/curate/new", _new, "POST"),
    route("/curate/drafts", _listed),
    route("/curate/{id}/remove", _remove, "POST"),
    route("/curate/{id}/data", _data, "GET", "POST"),
    Route("/curate/{id}/upload", _upload, methods=["POST"]),
    route("/curate/{id}/unit", _unit, "GET", "POST"),
    route("/curate/{id}/questions", _questions),
    route("/curate/{id}/fields", _fields),
    route("/curate/{id}/ask", _ask, "POST"),
    route("/curate/{id}/drop-question", _drop_question, "POST"),
    route("/curate/{id}/budget", _budget, "GET", "POST"),
    route("/curate/{id}/plan", _plan, "POST"),
    route("/curate/{id}/review", _review, "GET", "POST"),
    route("/curate/{id}/release", _release, "POST"),
    route("/curate/{id}/done", _done),
    route("/curate/{id}/files/{name}", _file),
    route("/curate/{id}/private", _private, "GET", "POST"),
]
