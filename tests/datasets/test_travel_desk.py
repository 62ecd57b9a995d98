import hashlib
import json
import re
import statistics
from dataclasses import astuple

import pytest

from keras_slstm.datasets import travel_grammar as grammar
from keras_slstm.datasets.travel_desk import INTENTS, SLOTS, SPLITS, TAGS, generate_requests, generate_splits


@pytest.fixture(scope="module")
def requests():
    return generate_requests(5_000, seed=0)


def slots_of(request):
    """Extract (slot, value) pairs from the tags; fail on tags that are not IOB2."""
    found, previous = [], "O"
    for token, tag in zip(request.tokens, request.tags):
        if tag.startswith("B-"):
            found.append([tag[2:], token])
        elif tag.startswith("I-"):
            assert previous[2:] == tag[2:], f"{tag} after {previous} in: {request.text}"
            found[-1][1] += " " + token
        previous = tag
    return [tuple(pair) for pair in found]


def test_same_seed_same_requests_on_every_machine():
    requests = generate_requests(200, seed=3)
    lines = [f"{request.intent}\t{request.text}\t{' '.join(request.tags)}" for request in requests]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    assert digest == "4ed1c7a2b94bba5106191bc8c188fd3124f7c160190938d7166f0c3c10d124bb", (
        "the corpus has changed: measured accuracies are no longer comparable"
    )


def test_a_longer_list_extends_the_shorter_and_seeds_differ(requests):
    assert generate_requests(50, seed=0) == requests[:50]
    assert generate_requests(50, seed=1) != requests[:50]
    assert generate_requests(0) == []
    with pytest.raises(ValueError, match="but got -1"):
        generate_requests(-1)


def test_texts_are_distinct_and_between_4_and_60_tokens(requests):
    assert len({request.text for request in requests}) == len(requests)
    lengths = [len(request.tokens) for request in requests]
    assert min(lengths) == 4
    assert 55 <= max(lengths) <= 60
    assert 15 <= statistics.median(lengths) <= 25


def test_splits_share_no_text():
    splits = generate_splits()
    assert {name: len(requests) for name, requests in splits.items()} == SPLITS
    content = json.dumps({name: [astuple(request) for request in found] for name, found in splits.items()})
    digest = hashlib.sha256(content.encode()).hexdigest()
    assert digest == "7bc75ba9894d20dc364744cb2308f0b7a071415d436b2ec94c0a8b26f681203d", (
        "the published corpus has changed"
    )
    texts = {name: {request.text for request in requests} for name, requests in splits.items()}
    assert not texts["train"] & texts["test"]
    assert not texts["train"] & texts["validation"]
    assert not texts["validation"] & texts["test"]


def test_every_token_is_plain_and_has_a_tag(requests):
    for request in requests:
        assert len(request.tokens) == len(request.tags)
        assert set(request.tags) <= set(TAGS)
        assert request.text.split(" ") == request.tokens
        assert not re.search(r"[<>{}]", request.text), "a symbol of the grammar was left unexpanded"


def test_every_intent_slot_and_construction_occurs(requests):
    assert {request.intent for request in requests} == set(INTENTS)
    assert len(INTENTS) == 12
    assert {request.construction for request in requests} == set(grammar.CONSTRUCTIONS)
    assert {slot for request in requests for slot, _ in slots_of(request)} == set(SLOTS)
    counts = [sum(request.intent == intent for request in requests) for intent in INTENTS]
    assert max(counts) < 1.3 * min(counts)


def test_slots_hold_values_of_the_grammar(requests):
    places, people = set(grammar.PHRASES["place"]), set(grammar.PHRASES["person"])
    for request in requests:
        for slot, value in slots_of(request):
            if slot in ("origin", "destination", "via", "city"):
                assert value in places
            elif slot == "name":
                assert value in people


def test_the_context_decides_the_role_of_a_city(requests):
    """Checks, independently of the grammar, the roles by the words before the city."""
    seen = set()
    for request in requests:
        for index, tag in enumerate(request.tags):
            before = request.tokens[index - 1] if index else ""
            if tag == "B-origin" and before not in ("from", "of", "between", "leaves"):
                pytest.fail(f"origin after {before!r}: {request.text}")
            if tag == "B-destination" and before not in ("to", "and", "for"):
                pytest.fail(f"destination after {before!r}: {request.text}")
            if tag == "B-via" and before not in ("via", "in"):
                pytest.fail(f"via after {before!r}: {request.text}")
            seen.add((request.tokens[index], tag))
    for word, tags in {
        "phoenix": ["B-origin", "B-destination", "B-via", "B-city", "B-name", "B-hotel"],
        "may": ["B-date", "B-name", "O"],
        "reading": ["B-destination", "O"],
        "second": ["I-date", "O"],
    }.items():
        for tag in tags:
            assert (word, tag) in seen


def test_intents_follow_order_and_scope(requests):
    """Checks, independently of the grammar, the intent of four constructions with regular expressions."""
    verbs = {
        "book": "book|reserve|arrange|get",
        "change": "change|move|shift|postpone",
        "cancel": "cancel|call|give",
        "check": "check|look into|verify",
    }
    action_of = {verb: action for action, group in verbs.items() for verb in group.split("|")}
    verb = f"({'|'.join(action_of)})"
    wanted_in = [
        rf"please do not .* , just {verb}\b",
        rf"^i did not ask you to .* , i asked you to {verb}\b",
        rf"^i would rather {verb}\b.* than ",
        rf"^what i want now is to {verb}\b.* , although ",
        rf"^my first idea was to {verb}\b.* i am going with the first\b",
        rf"my second idea was to {verb}\b.* i am going with the second\b",
    ]
    checked = 0
    for request in requests:
        for pattern in wanted_in:
            match = re.search(pattern, request.text)
            if match:
                assert request.intent.split("_")[0] == action_of[match.group(1)], request.text
                checked += 1
    assert checked > 200


def test_former_and_latter_refer_to_the_right_thing(requests):
    nouns = {"flight": "flight", "hotel": "hotel", "room": "hotel", "car": "car"}
    checked = 0
    for request in requests:
        match = re.search(r"of two things , (.*?) , .* the (former|latter)\b", request.text)
        if match:
            things = [nouns[word] for word in match.group(1).split() if word in nouns]
            expected = things[0] if match.group(2) == "former" else things[-1]
            if match.group(1).count(" and ") == 1:  # "between paris and rome" would need a parser
                first, second = match.group(1).split(" and ")
                expected = next(
                    nouns[word] for word in (first if match.group(2) == "former" else second).split() if word in nouns
                )
                assert request.intent.endswith(expected), request.text
                checked += 1
    assert checked > 30


def test_a_bag_of_words_is_clearly_worse(requests):
    """The recurrent encoders reach about 0.95; counting words must not come close."""
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    vectorizer = text.TfidfVectorizer(token_pattern=r"\S+")
    train, test = requests[:4_000], requests[4_000:]
    features = vectorizer.fit_transform([request.text for request in train])
    model = linear.LogisticRegression(C=10, max_iter=200).fit(features, [request.intent for request in train])
    accuracy = model.score(
        vectorizer.transform([request.text for request in test]), [request.intent for request in test]
    )
    assert 0.3 < accuracy < 0.6
