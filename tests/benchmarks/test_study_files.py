"""Study files still describe the recorded trainings, and their scores follow from the recorded test items."""

from __future__ import annotations

import pytest

from benchmarks.study import Line, Study, lines_of, read_study
from benchmarks.study_report import STUDIES
from keras_slstm.cli.names import PAIR_ARCHITECTURES
from keras_slstm.cli.presets import load_presets

# Lines from before these settings existed have this value.
ABSENT = {"optimizer": "adam", "recurrent_multiplier": 1.0}


def differing_settings(study: Study, line: Line) -> dict[str, tuple[object, object]]:
    """Return the recorded value and the present one of each setting for which a repetition would use another value."""
    options = {**study.options, **study.data[line["data"]], **study.rows[line["row"]]}
    if study.searched is not None:
        options[study.searched] = line["value"]
    named = {name.replace("-", "_"): value for name, value in options.items()}
    presets = load_presets("match" if study.command == "embed" else study.command)  # embed trains as match does
    present = {**presets[options["preset"]], **PAIR_ARCHITECTURES.get(options.get("architecture"), {}), **named}
    if options.get("equal-parameters"):  # the command chooses the width
        present.pop("units")
    recorded = {**{name: value for name, value in ABSENT.items() if name in present}, **line["settings"]}
    return {
        name: (value, present[name])
        for name, value in recorded.items()
        if name in present
        and name not in ("vectors", "data")
        and not isinstance(value, dict)  # recorded in another form than that of the option
        and comparable(value) != comparable(present[name])
    }


def comparable(value: object) -> object:
    """Return numbers as floats, and words in lower case, because `none` is recorded as None."""
    return float(value) if isinstance(value, int | float) else str(value).lower()


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_study_file_repeats_its_trainings_with_the_same_settings(path):
    study = read_study(path)
    for line in lines_of(study):
        assert differing_settings(study, line) == {}


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.toml")), ids=lambda path: path.stem)
def test_recorded_scores_follow_from_the_test_items(path):
    for line in lines_of(read_study(path)):
        if line["items"] is not None:
            correct, predicted, true = (sum(column) for column in zip(*line["items"], strict=True))
            # F1, which is the accuracy if every item has one prediction and one label. Keras' metrics are float32.
            assert line["test_score"] == pytest.approx(2 * correct / (predicted + true), abs=1e-6), line["row"]


def test_a_changed_default_is_found():
    study = read_study(STUDIES / "slstm_trec.toml")
    line = lines_of(study)[0]
    line["settings"]["decay"] = 0.25
    assert differing_settings(study, line) == {"decay": (0.25, 0.5)}
    del line["settings"]["decay"]
    study.options["optimizer"] = "muon"
    assert differing_settings(study, line) == {"optimizer": ("adam", "muon")}
