"""The command line, `keras-slstm COMMAND ...`, in two layers.

The modules of this package declare and check options. They import neither Keras nor anything that does, so that help
and errors take a fraction of a second. `keras_slstm.cli.tasks` does the work, and is imported by `run` only.

To add a command, write a module with its name here, and put the name into `keras_slstm.cli.main.COMMANDS`:

```python
SUMMARY = "Tag the words of texts."        # one sentence
EXAMPLES = "keras-slstm tag --task ner"    # commands, one per line, shown below the options

def add_arguments(parser: Parser) -> None:
    data = parser.group("data")            # the group with this title, created on first use
    data.add("--data", metavar="FILE", shown="PATH", help="your own column file")
    data.add("--on-error", choices=("raise", "skip"), advanced=True, help="stop at a malformed line, or skip it")

def run(arguments: argparse.Namespace) -> int:
    if arguments.folds and not arguments.data:
        raise ValueError("--folds needs --data")       # one line, exit status 2
    from keras_slstm.cli.tasks import tag  # loads Keras

    return tag.train_all(arguments)
```

- `advanced=True`: only listed by `--help-all`. About ten options of a command are not advanced.
- `shown`: how the option appears in the recorded command: `"value"`, `"PATH"` (files differ between machines) or
  `"never"`.
- Defaults are added to the help automatically; the types in `keras_slstm.cli.options` check numbers.
- The settings of presets are in `presets/COMMAND.toml` (see `keras_slstm.cli.presets`); `add_settings` makes options of
  them. Options of all training commands are in `keras_slstm.cli.training_options`.
- ValueError, OSError, ArithmeticError and ImportError become one line and exit status 2.
"""
