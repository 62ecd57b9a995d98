"""Checks that all training commands must pass."""

from __future__ import annotations

import keras


def check_that_an_interrupted_training_resumes(command, options, monkeypatch, capsys):
    """Interrupt a two-epoch training by Ctrl-C after the first epoch; the command then trains only the second."""
    given = [*options, "--epochs", 2]
    fit = keras.Model.fit

    def stop(epoch, logs):
        if epoch == 1:
            raise KeyboardInterrupt

    def interrupted(self, *args, callbacks, **kwargs):
        return fit(self, *args, callbacks=[*callbacks, keras.callbacks.LambdaCallback(on_epoch_begin=stop)], **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "fit", interrupted)
        assert command(*given) == 130
    assert "same command continues" in capsys.readouterr().err
    assert command(*given) == 0
    out = capsys.readouterr().out
    assert "after epoch 1" in out
    assert "Epoch 1/2" not in out
    assert "Epoch 2/2" in out
