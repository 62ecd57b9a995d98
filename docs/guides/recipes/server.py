"""Serve a classifier over HTTP with onnxruntime and FastAPI.

pip install onnxruntime "fastapi[standard]"
MODEL=intents.onnx fastapi run server.py
curl localhost:8000/classify -H "Content-Type: application/json" -d '{"texts": ["cancel my hotel"]}'
"""

import os

from classify import Classifier
from fastapi import FastAPI
from pydantic import BaseModel, Field

app = FastAPI()
classifier = Classifier(os.environ["MODEL"])


class Request(BaseModel):
    """The body of a request."""

    texts: list[str] = Field(min_length=1, max_length=256)


@app.post("/classify")
def classify(request: Request) -> list[dict[str, str | float]]:
    """Return the label and its probability for each text."""
    return [{"label": label, "probability": probability} for label, probability in classifier(request.texts)]
