"""The grammar of the travel-desk corpus: words, phrases and sentence patterns, as data.

Notation of a pattern (words are separated by spaces, so punctuation stands alone):

- `word`             itself, tagged `O`;
- `<symbol>`         one of the alternatives of `PHRASES["symbol"]`, drawn evenly: an alternative that is
                     listed twice is drawn twice as often;
- `{slot}`           a value of that slot, tagged `B-slot I-slot ...`; which phrase yields the values says
                     `SLOTS`; `{slot:symbol}` takes them from another phrase;
- `<want>`, `<other>`  in `CONSTRUCTIONS` only: what the traveller wants, and what the request also mentions
                     but does not ask for. `<want>` is a whole verb phrase ("move my flight to friday"),
                     `<want.it>` the same with a pronoun, `<want.ing>` its gerund, `<want.say>` a sentence of
                     its own, and `<want.verb>`, `<want.np>`, `<want.tail>` are its parts.

Tagging rules: cities of a flight (or of a one-way car) are `origin`, `destination` or `via`; any other city
is `city`. Every person is `name` and every calendar date `date`, also in what is not asked for.
"""

from __future__ import annotations

from typing import NamedTuple

# --- what can be asked for --------------------


class Verb(NamedTuple):
    """A verb of a request, with the particle that a pronoun precedes ("call it off")."""

    base: str
    ing: str
    particle: str = ""


VERBS: dict[str, list[Verb]] = {
    "book": [
        Verb("book", "booking"),
        Verb("book", "booking"),
        Verb("reserve", "reserving"),
        Verb("arrange", "arranging"),
        Verb("get", "getting"),
    ],
    "change": [
        Verb("change", "changing"),
        Verb("move", "moving"),
        Verb("shift", "shifting"),
        Verb("postpone", "postponing"),
    ],
    "cancel": [
        Verb("cancel", "cancelling"),
        Verb("cancel", "cancelling"),
        Verb("cancel", "cancelling"),
        Verb("call", "calling", "off"),
        Verb("give", "giving", "up"),
    ],
    "check": [
        Verb("check", "checking"),
        Verb("check on", "checking on"),
        Verb("look into", "looking into"),
        Verb("verify", "verifying"),
    ],
}
ACTIONS = list(VERBS)
THINGS = ["flight", "hotel", "car"]
INTENTS = [f"{action}_{thing}" for action in ACTIONS for thing in THINGS]

# What follows the noun phrase, and sentences that ask without an imperative.
TAILS = {"change": "<to_date>"}
SAYINGS: dict[str, list[str]] = {
    "book": ["i need <np>", "i am looking for <np>", "do you have <np>", "i could do with <np>"],
    "change": [
        "<np> has to be moved <to_date>",
        "i can not make it on {date} after all , so <np> will have to wait until {date}",
        "is it possible to have <np> on {date} instead",
    ],
    "cancel": [
        "i no longer need <np>",
        "i can do without <np> after all",
        "i will not be needing <np> any more",
    ],
    "check": [
        "has <np> been confirmed yet",
        "is <np> still all right",
        "i have heard nothing about <np> , is everything in order",
    ],
}

# --- slots --------------------

SLOTS: dict[str, str] = {
    "origin": "place",
    "destination": "place",
    "via": "place",
    "city": "place",
    "date": "day",
    "time": "clock",
    "airline": "airline",
    "hotel": "hotel_name",
    "name": "person",
    "passengers": "passengers",
    "duration": "duration",
    "price": "price",
}
TAGS = ["O"] + [f"{prefix}-{slot}" for slot in SLOTS for prefix in ("B", "I")]

# Cities that are also first names, months, or plain words: the context decides.
AMBIGUOUS_PLACES = """
    paris, jordan, charlotte, phoenix, austin, sydney, florence, orlando, savannah, lincoln, jackson, madison,
    nice, reading, mobile, bath, cork, orange, split
"""
CLEAR_PLACES = """
    boston, denver, london, rome, berlin, madrid, lisbon, vienna, dublin, oslo, athens, cairo, tokyo, chicago,
    miami, seattle, toronto, montreal, mumbai, prague, new york, san francisco, los angeles, las vegas,
    new orleans, hong kong, cape town, mexico city, salt lake city, rio de janeiro, kuala lumpur, buenos aires
"""
AMBIGUOUS_NAMES = """
    paris, jordan, charlotte, phoenix, austin, sydney, florence, orlando, savannah, lincoln, jackson, madison,
    april, may, june, august
"""
CLEAR_NAMES = """
    anna, peter, maria lopez, john, ingrid, ahmed, wei chen, tom baker, olga, samuel, fatima, lucas meyer,
    nina, david
"""


def _values(text: str) -> list[str]:
    return [" ".join(value.split()) for value in text.split(",")]


PHRASES: dict[str, list[str]] = {
    "place": _values(AMBIGUOUS_PLACES) + _values(CLEAR_PLACES),
    "person": _values(AMBIGUOUS_NAMES) + _values(CLEAR_NAMES),
    "airline": _values(
        "delta, united, american, frontier, spirit, swiss, emirates, lufthansa, iberia, klm, air france, "
        "british airways, alaska airlines, air canada, japan airlines"
    ),
    "hotel_name": _values(
        "savoy, grand plaza, royal garden, park view inn, old mill, blue lagoon resort, lincoln, florence, "
        "phoenix, charlotte street hotel, orange house, majestic, hotel paris, four winds, sydney, "
        "station hotel"
    ),
    "weekday": _values("monday, tuesday, wednesday, thursday, friday, saturday, sunday"),
    "month": _values(
        "january, february, march, april, may, june, july, august, september, october, november, december"
    ),
    "ordinal": _values(
        "first, second, third, fourth, fifth, tenth, twelfth, fifteenth, eighteenth, twentieth, thirtieth"
    ),
    "number": _values("two, three, four, five, six, seven"),
    "hour": _values("six, seven, eight, nine, ten, eleven"),
    "half_hour": ["6:30", "7:15", "8:45", "9:30", "10:15", "11:20"],
    # Dates that stand after "on"; those that stand alone; those that lie behind us.
    "day": [
        "<weekday>",
        "<weekday>",
        "<weekday> <part_of_day>",
        "next <weekday>",
        "next <weekday> <part_of_day>",
        "<month> <day_number>",
        "<month> <day_number>",
        "the <ordinal> of <month>",
        "the <ordinal>",
    ],
    "part_of_day": ["morning", "afternoon", "evening"],
    "day_number": [str(day) for day in range(2, 29)],
    "near_day": [
        "tomorrow",
        "tomorrow <part_of_day>",
        "next week",
        "the day after tomorrow",
        "the week after next",
    ],
    "past_day": ["yesterday", "last week", "last <weekday>", "this morning", "two days ago"],
    "clock": [
        "<half_hour> am",
        "<half_hour> pm",
        "noon",
        "<hour> in the morning",
        "<number> in the afternoon",
        "half past <hour>",
        "<hour> pm",
        "a quarter to <hour>",
    ],
    "passengers": [
        "<number> people",
        "<number> adults",
        "a family of <number>",
        "<number> of us",
        "<number> passengers",
    ],
    "duration": ["<number> nights", "<number> days", "a week", "one night", "the weekend"],
    "price": ["<amount> dollars", "<amount> euros", "<amount> pounds"],
    "amount": ["90", "120", "150", "200", "250", "300", "450", "600"],
    "on_date": ["on {date}", "on {date}", "on {date}", "in {date:month}", "{date:near_day}"],
    "to_date": ["to {date}", "to {date}", "to {date}", "to {date:month}", "to {date:near_day}"],
    # Noun phrases: what exists already ("my flight ...") and what is to be booked ("a flight ...").
    "my": ["my", "my", "the", "our"],
    "route": [
        "to {destination}",
        "to {destination}",
        "from {origin} to {destination}",
        "to {destination} from {origin}",
        "from {origin}",
        "out of {origin}",
        "back to {destination} from {origin}",
        "from {origin} back to {destination}",
        "between {origin} and {destination}",
        "from {origin} via {via} to {destination}",
        "to {destination} with a stop in {via}",
        "via {via} to {destination}",
        "that leaves {origin} for {destination}",
        "that leaves for {destination}",
    ],
    "flight_noun": ["flight", "flight", "flight", "flight reservation", "flight booking"],
    "hotel_noun": ["hotel", "hotel", "hotel room", "hotel booking"],
    "car_noun": ["rental car", "car", "rental car", "car rental", "car reservation"],
    "known_flight": [
        "<my> flight",
        "<my> flight to {destination}",
        "<my> flight from {origin}",
        "<my> flight <on_date>",
        "<my> {airline} flight",
        "<my> {time:half_hour} flight",
        "<my> <flight_noun> <route>",
        "<my> <flight_noun> <route>",
        "<my> {airline} flight <route>",
        "<my> flight <route> with {airline}",
        "<my> <flight_noun> <route> <on_date>",
        "<my> flight <route> on {date} at {time}",
        "<my> flight <route> for {passengers}",
    ],
    "new_flight": [
        "a flight",
        "a flight to {destination}",
        "a flight from {origin}",
        "a flight <on_date>",
        "a flight with {airline}",
        "a flight at {time}",
        "a flight <route>",
        "a flight <route>",
        "a flight <route> with {airline}",
        "a flight <route> <on_date>",
        "a flight <route> on {date} at {time}",
        "a flight <route> for {passengers}",
        "a flight <route> for less than {price}",
    ],
    "known_hotel": [
        "<my> hotel",
        "<my> room",
        "<my> hotel in {city}",
        "<my> hotel booking",
        "<my> hotel <on_date>",
        "<my> room at the {hotel}",
        "<my> <hotel_noun> in {city}",
        "<my> room at the {hotel} in {city}",
        "<my> <hotel_noun> in {city} <on_date>",
        "<my> <hotel_noun> in {city} for {duration}",
        "<my> room at the {hotel} for {passengers}",
    ],
    "new_hotel": [
        "a hotel",
        "a hotel room",
        "a hotel in {city}",
        "a room with a bath",
        "a hotel <on_date>",
        "a room at the {hotel}",
        "a room at the {hotel} in {city}",
        "a hotel room in {city} <on_date>",
        "a hotel in {city} for {passengers}",
        "a hotel in {city} for {duration}",
        "a hotel in {city} for less than {price}",
    ],
    "known_car": [
        "<my> car",
        "<my> car in {city}",
        "<my> <car_noun>",
        "<my> car <on_date>",
        "<my> <car_noun> at {city} airport",
        "<my> <car_noun> in {city}",
        "<my> <car_noun> from {origin} to {destination}",
        "<my> <car_noun> in {city} <on_date>",
        "<my> <car_noun> in {city} for {duration}",
        "<my> <car_noun> for {passengers}",
    ],
    "new_car": [
        "a car",
        "a car in {city}",
        "a rental car",
        "a car <on_date>",
        "a car at {city} airport",
        "a rental car in {city}",
        "a rental car from {origin} to {destination}",
        "a rental car in {city} <on_date>",
        "a car in {city} for {duration}",
        "a car for {passengers}",
        "a rental car for less than {price}",
    ],
    # Around the request.
    "please": [
        "please",
        "please",
        "please",
        "could you",
        "could you please",
        "can you",
        "i would like you to",
        "i need you to",
        "may i ask you to",
        "it would be nice if you could",
    ],
    "friend": [
        "my colleague {name}",
        "my friend {name}",
        "my boss {name}",
        "my cousin {name}",
        "my neighbour {name}",
        "{name}",
    ],
    "opening": ["<greeting> <gap>", "<greeting>", "", "", "<gap>"],
    "greeting": [
        "hello ,",
        "hi ,",
        "hi there ,",
        "good morning ,",
        "hello , this is {name} .",
        "my name is {name} .",
    ],
    "closing": [
        *4 * [""],
        ".",
        ". thanks .",
        ". thank you .",
        ". thanks a lot . {name}",
        ". it is all in the name of {name} .",
        ". you can ask {name} if anything is unclear .",
    ],
    # Remarks carry no request. They use its words in other senses.
    "remark": [
        "i left my book in the car .",
        "i am reading a book about the history of flight .",
        "i will pay by check .",
        "i have no change on me .",
        "this would make a nice change .",
        "the weather has been nice .",
        "it may rain all week .",
        "my mobile is nearly empty .",
        "<friend> lives in {city} .",
        "<friend> and i met in {city} .",
        "i was born in {city} .",
        "i used to live in {city} , but now {city} is my home .",
        "in {date:month} i was in {city} with {name} .",
        "i am calling from the car , so the line may be bad .",
        "i am calling from the hotel bar .",
        "my own car is at the garage .",
        "my last flight was a nightmare .",
        "i have just climbed a flight of stairs .",
        "please give me a second .",
        "this is the second time that i call .",
        "the first time i called nobody answered .",
        "<friend> and i want to march in the parade in {city} .",
        "i am eating an orange in the hotel lobby .",
        "{name} gave me a book about old hotels .",
        "i had a change of heart .",
        "i could do with a hot bath now .",
        "we split the costs .",
        "{name} says hello .",
        "my meeting on {date} was a success .",
        "i do not cancel things lightly .",
        "i like to move around a lot .",
    ],
    "gap": ["", "", "", "<remark>", "<remark> <remark>"],
}

# Two of three requests are written in a hurry: there these phrases take the place of those above.
TERSE: dict[str, list[str]] = {
    "known_flight": [
        "<my> flight",
        "<my> flight",
        "<my> flight to {destination}",
        "<my> flight from {origin}",
    ],
    "new_flight": ["a flight", "a flight", "a flight to {destination}", "a flight from {origin}"],
    "known_hotel": ["<my> hotel", "<my> room", "<my> hotel in {city}", "<my> room at the {hotel}"],
    "new_hotel": ["a hotel", "a hotel room", "a hotel in {city}", "a room at the {hotel}"],
    "known_car": ["<my> car", "<my> rental car", "<my> car in {city}", "<my> car for {duration}"],
    "new_car": ["a car", "a rental car", "a car in {city}", "a car for {duration}"],
    "opening": ["", "", "", "<greeting>"],
    "closing": ["", "", "."],
    "gap": [""],
}

# Symbols whose alternatives appear at most once in a request.
ONCE = {"remark"}


# --- constructions --------------------


class Construction(NamedTuple):
    """A way of asking for one thing while mentioning another.

    `differs` says in what the other request mentioned differs from the one wanted: the "action" on the same
    thing, the "thing" under the same action, or "any" (at least one of both). `None`: there is no other.
    """

    weight: int
    differs: str | None
    patterns: list[str]


def _either(pattern: str, *answers: tuple[str, str]) -> list[str]:
    """Fill `<1st>`, `<2nd>` and `<answer>` both ways: the answer says which of the two is wanted."""
    filled = []
    for answer, first, second in ((0, "want", "other"), (1, "other", "want")):
        arranged = pattern.replace("<1st", f"<{first}").replace("<2nd", f"<{second}")
        filled += [arranged.replace("<answer>", pair[answer]) for pair in answers]
    return filled


_FORMER = ("the former", "the latter")
_FIRST = ("the first", "the second")


def _condition(this: str, that: str, fact: tuple[str, str]) -> list[str]:
    return _either(f"if {this} , <1st> , if {that} , <2nd> . <gap> <answer>", fact)


CONSTRUCTIONS: dict[str, Construction] = {
    "plain": Construction(
        6,
        None,
        [
            "<please> <want>",
            "<please> <want>",
            "i want to <want>",
            "i would like to <want>",
            "do not forget to <want>",
            "i am calling about <want.ing>",
            "<want.say>",
            "<want.say>",
            "<want.say>",
        ],
    ),
    "negation": Construction(
        4,
        "any",
        [
            "do not <other> , <please> <want>",
            "<please> <want> , but do not <other>",
            "i do not want to <other> , i want to <want>",
            "i want to <want> , i do not want to <other>",
            "do not forget to <want> and please do not <other>",
            "please do not <other> and do not forget to <want>",
            "you do not have to <other> , but you do have to <want>",
            "you do have to <want> , but you do not have to <other>",
            "it is not true that i want to <other> , i want to <want>",
            "it is true that i want to <want> , but not that i want to <other>",
            "i am not calling about <other.ing> but about <want.ing>",
            "i am calling about <want.ing> and not about <other.ing>",
        ],
    ),
    "negation of the same thing": Construction(
        5,
        "action",
        [
            "do not <other> , <want.it>",
            "please do not <other> , just <want.it>",
            "<please> <want> , do not <other.it>",
            "<please> <want> , and whatever you do , do not <other.it>",
            "i do not want to <other> , i want to <want.it>",
            "i want to <want> , i do not want to <other.it>",
            "rather than <other> , <please> <want.it>",
            "i would rather <want> than <other.it>",
            "i thought about <other.ing> , but please just <want.it>",
            "<please> <want> , although i thought about <other.ing.it>",
            "i did not ask you to <other> , i asked you to <want.it>",
            "i asked you to <want> , i did not ask you to <other.it>",
        ],
    ),
    "preference": Construction(
        2,
        "any",
        [
            "i would rather <want> than <other>",
            "rather than <other> i would <want>",
            "it is better to <want> than to <other>",
            "instead of <other.ing> , <please> <want>",
            "<please> <want> instead of <other.ing>",
        ],
    ),
    "report": Construction(
        4,
        "any",
        [
            "{date:past_day} i asked you to <other> . <gap> forget that . <please> <want>",
            "{date:past_day} i asked you to <other> , now forget that and <want>",
            "<please> <want> . <gap> forget that {date:past_day} i asked you to <other>",
            "i know that {date:past_day} i asked you to <other> , but what i want now is to <want>",
            "what i want now is to <want> , although {date:past_day} i asked you to <other>",
            "{date:past_day} {name} told you to <other> . <gap> that was a mistake , you should <want>",
            "you should <want> . <gap> {date:past_day} {name} told you to <other> , but that was a mistake",
        ],
    ),
    "someone else": Construction(
        4,
        "any",
        [
            "<friend> is going to <other> , you only have to <want>",
            "you only have to <want> , <friend> is going to <other>",
            "i have already managed to <other> , so now <please> <want>",
            "<please> <want> . i have already managed to <other> myself",
        ],
    ),
    "repair": Construction(
        3,
        "any",
        [
            "<please> <other> . no , sorry , that is wrong , <want>",
            "<please> <other> . no , wait , i mean <want>",
            "i nearly said <other> , but no , <please> <want>",
            "<please> <want> , i nearly said <other>",
            "<please> <want> , sorry if it sounded as if you should <other>",
        ],
    ),
    "contrast": Construction(
        4,
        "thing",
        [
            "<please> <want.verb> not <other.np> but <want.np> <want.tail>",
            "<please> <want.verb> <want.np> <want.tail> , not <other.np>",
            "not <other.np> , <want.np> is what i want to <want.verb> <want.tail>",
            "<want.np> , not <other.np> , is what i want to <want.verb> <want.tail>",
            "it is <want.np> that i want to <want.verb> <want.tail> , not <other.np>",
            "it is not <other.np> but <want.np> that i want to <want.verb> <want.tail>",
            "never mind <other.np> , it is <want.np> that i want to <want.verb> <want.tail>",
        ],
    ),
    "reference": Construction(
        4,
        "thing",
        [
            *_either(
                "there is <1st.np> and there is <2nd.np> . <gap> <please> <want.verb> <answer> <want.tail>",
                _FORMER,
                _FIRST,
            ),
            *_either(
                "of two things , <1st.np> and <2nd.np> , <please> <want.verb> <answer> <want.tail>",
                _FORMER,
                _FIRST,
            ),
            *_either(
                "<please> <want.verb> <answer> of two <want.tail> . <gap> they are <1st.np> and <2nd.np>",
                _FIRST,
            ),
        ],
    ),
    "choice": Construction(
        4,
        "any",
        [
            *_either("you can <1st> or <2nd> . <gap> please do <answer>", _FORMER, _FIRST),
            *_either("should you <1st> or <2nd> ? <gap> i am for <answer>", _FORMER, _FIRST),
            *_either(
                "my first idea was to <1st> , my second idea was to <2nd> . <gap> i am going with <answer>",
                _FIRST,
            ),
            *_either(
                "option one is to <1st> , option two is to <2nd> . <gap> i take option <answer>",
                ("one", "two"),
            ),
        ],
    ),
    "resolved later": Construction(
        3,
        "any",
        [
            *_either(
                "i want to <1st> , my boss {name} wants to <2nd> . <gap> please do as <answer>",
                ("i say", "my boss says"),
            ),
            *_either(
                "my boss {name} wants to <1st> , i want to <2nd> . <gap> please do as <answer>",
                ("my boss says", "i say"),
            ),
            *_condition("my boss says yes", "my boss says no", ("my boss said yes", "my boss said no")),
            *_condition("my boss says no", "my boss says yes", ("my boss said no", "my boss said yes")),
            *_condition("it rains", "it is dry", ("it rains", "it is dry")),
            *_condition("it is dry", "it rains", ("it is dry", "it rains")),
        ],
    ),
}
