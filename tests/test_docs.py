"""The generated pages are true."""

import pytest

from popcorn.cli.docs import COLUMNS, fields, main, modules, nouns, render

MODELS = [model for module in modules() for model in nouns(module)]


def test_columns_md_is_up_to_date():
    assert COLUMNS.read_text() == render(), "run: python -m popcorn.cli.docs"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_has_a_docstring_under_it(model):
    rows = fields(model)
    assert [name for name, _, _ in rows] == list(model.model_fields), "every field is the model's own"
    for name, kind, text in rows:
        assert kind and len(text) > 2, f"{model.__name__}.{name} has no docstring under it"
    assert model.__doc__


def test_every_noun_and_closed_set_is_on_the_page():
    page = render()
    for model in MODELS:
        assert f"### {model.__name__}\n" in page
    for word in ("`wrong_values`", "`time_s`", "`fusion_ratio`", "`Outcome`", "`sol_source`"):
        assert word in page
    assert {"Case", "Verdict", "Measurement", "Machine", "Record", "Run"} <= {model.__name__ for model in MODELS}


def test_checking_tells_a_stale_page_from_a_true_one(tmp_path, capsys):
    page = tmp_path / "columns.md"
    assert main(["--check", "--to", str(page)]) == 1
    assert main(["--to", str(page)]) == 0
    assert main(["--check", "--to", str(page)]) == 0
    page.write_text(page.read_text().replace("Joules", "Jules"))
    assert main(["--check", "--to", str(page)]) == 1
    assert "out of date" in capsys.readouterr().err
