import argparse
import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def common():
    path = Path(__file__).parents[2] / "examples" / "_common.py"
    spec = importlib.util.spec_from_file_location("_common", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_can_be_repeated_elsewhere(common):
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--output")
    parser.add_argument("--units", type=int)
    parser.add_argument("--cased", action="store_true")
    parser.add_argument("--jit-compile", action=argparse.BooleanOptionalAction)
    parser.add_argument("--encoder-option", nargs="+", type=common.option, default=[])
    given = ["--data", "/home/a b/mails.tsv", "--output", "there", "--units", "3", "--no-jit-compile", "--cased"]
    given += ["--encoder-option", "num_layers=3", "initial=zeros"]
    words = "python examples/script.py --data PATH --units 3 --cased --no-jit-compile "
    args = parser.parse_args(given)
    assert common.command("script.py", parser, args) == words + "--encoder-option num_layers=3 'initial=\"zeros\"'"
    assert args.encoder_option == [("num_layers", 3), ("initial", "zeros")]
    assert common.command("script.py", parser, parser.parse_args([])) == "python examples/script.py"


def test_names_of_folders(common):
    names = ["mails.tsv.gz", "there/mails.tsv", "sst/phrases_2", "glue/sst2"]
    assert [common.short_name(name) for name in names] == ["mails", "mails", "sst-phrases_2", "glue-sst2"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--patience", "-1"], "--patience must be an integer of at least 1, but got -1"),
        (["--patience", "0"], "--patience must be an integer of at least 1, but got 0"),
        (["--learning-rate", "nan"], "--learning-rate must be a number above 0, but got nan"),
        (["--learning-rate", "inf"], "--learning-rate must be a number above 0, but got inf"),
        (["--decay", "2"], "--decay must be above 0, and at most 1, but got 2.0"),
        (["--dropout", "nan"], "--dropout must be in [0, 1), but got nan"),
        (["--dropout", "1"], "--dropout must be in [0, 1), but got 1.0"),
        (["--weight-decay", "-1"], "--weight-decay must be at least 0, but got -1.0"),
        (["--folds", "1"], "--folds must be an integer of at least 2, but got 1"),
        (["--seed", "3", "-1"], "--seed must be between 0 and 4294967295, but got -1"),
        (["--units", "many"], "argument --units: invalid int value: 'many'"),
    ],
)
def test_impossible_numbers_are_named_in_one_line(common, given, message, capsys):
    parser = common.Parser(prog="script.py")
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    for name in ("units", "patience", "folds"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("learning-rate", "decay", "dropout", "weight-decay"):
        parser.add_argument(f"--{name}", type=float)
    assert vars(parser.parse_args(["--decay", "1", "--dropout", "0", "--seed", "0", "7"]))["seed"] == [0, 7]
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(given)
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"script.py: {message} (--help lists all options)\n"


def test_options_of_presets(common):
    parser = argparse.ArgumentParser()
    group = parser.add_argument_group("model")
    presets = {"small": {"units": 8, "learning_rate": 0.1}, "paper": {"units": 300, "learning_rate": 0.001}}
    common.add_preset_options(parser, presets, group, ("units",))
    assert vars(parser.parse_args(["--units", "3"])) == {"units": 3, "learning_rate": None}
    assert "(8 small, 300 paper)" in parser.format_help()
