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


def check_that_training_resumes_within_an_epoch(command, options, monkeypatch, capsys):
    """Interrupt an epoch by Ctrl-C in its second step; the same command then trains all steps but the first."""
    given = [*options, "--epochs", 1, "--save-every", 1]
    fit = keras.Model.fit
    steps = []

    def with_callback(on_batch_begin):
        counter = keras.callbacks.LambdaCallback(on_train_batch_begin=on_batch_begin)
        return lambda self, *args, callbacks, **kwargs: fit(self, *args, callbacks=[*callbacks, counter], **kwargs)

    def stop(batch, logs):
        steps.append(batch)
        if len(steps) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "fit", with_callback(stop))
        assert command(*given) == 130
    assert "same command continues" in capsys.readouterr().err
    rest = []
    with monkeypatch.context() as patched:
        patched.setattr(keras.Model, "fit", with_callback(lambda batch, logs: rest.append(batch)))
        assert command(*given) == 0
    with monkeypatch.context() as patched:
        steps.clear()
        patched.setattr(keras.Model, "fit", with_callback(lambda batch, logs: steps.append(batch)))
        assert command(*given, "--overwrite") == 0
    assert len(steps) > 2
    assert len(rest) == len(steps) - 1
