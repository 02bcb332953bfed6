"""One translation: what the page shows is what its views look into, the command writes and the API answers."""

import json
import shlex
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import Request, urlopen

import pytest
from benchmarks.load import ServerProcess

from tests.support.commands import Command
from tests.support.traced_sentence import asked as traced

pytestmark = pytest.mark.browser

GRANDMOTHER = "My grandmother used to bake bread every Sunday morning."
SENTENCES = f"""{GRANDMOTHER}
Where is the nearest station, please?
I would like a table for two people.
Could you tell me what time it is?
The train leaves at half past eight.
She has lived in Berlin for ten years.
We are going to the beach tomorrow if the weather is good.
My brother lost his keys in the park.
He has been working in the same office since he left school.
The children were playing in the garden when it started to rain.
I forgot to buy milk on my way home.
Please close the window before you leave.
They decided to sell the house and move to the country.
What would you do if you won a lot of money?
The book you gave me is on the kitchen table.
I have never seen such a beautiful sunset.
Our neighbours have a very old dog that sleeps all day.
It is too late to call her now.
The doctor told him to stop smoking.
Nobody knew why the lights went out.
The little boat came back before the storm.
I have been learning Chinese for three years.
Can you help me carry this box upstairs?
She opened the letter and began to cry.
The museum is closed on Mondays.
If you had asked me, I would have helped you.
He drinks two cups of coffee every morning.
There is a small bakery around the corner.
I am looking forward to seeing you again.
The old man sat on the bench and fed the birds.
You should not believe everything you read.
My sister is getting married in June.
The soup is too hot to eat.
We ran out of petrol in the middle of nowhere.
I would rather stay at home tonight.
How long have you been waiting for the bus?
The teacher asked us to be quiet.
His car broke down on the way to work.
She speaks four languages fluently.
The cat jumped over the fence and disappeared.
I cannot find my glasses anywhere.
They have been friends since they were children.
The bridge was built more than a hundred years ago.
Let me know when you are ready.
It has not rained for three weeks.
The last time I saw him, he was living in Paris.
Do you mind if I open the door?
The meeting has been moved to Friday afternoon.
She was so tired that she fell asleep on the train.
You can pay by card or in cash.
He promised to write, but he never did.
The shop on the corner sells fresh fruit.
I do not remember where I parked the car.
Most people here get up early.
The river is deep and very cold.
Turn left at the traffic lights and go straight on.
We have to finish this work by tomorrow evening.
Her father works in a hospital.
Would you like some more tea?
The wind blew my hat into the water.
I hope that everything goes well for you.
The police are looking for two men in a white van.""".split("\n")
READY = '.pane.target[aria-busy="false"]'


def posted(server: Any, body: dict[str, Any]) -> dict[str, Any]:
    request = Request(f"{server.url}/translate", json.dumps(body).encode(), {"content-type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def output(page: Any) -> str:
    page.wait_for_selector(f"{READY} .output")
    return "\n".join(page.locator(".output p").all_text_contents())


def question_of_the_page(page: Any, server: Any) -> dict[str, Any]:
    """What the page asks of the server for its text."""
    bodies: list[dict[str, Any]] = []

    def note(request: Any) -> None:
        if request.url.endswith("/translate"):
            bodies.append(json.loads(request.post_data))

    page.on("request", note)
    page.goto(f"{server.url}/?text={quote(GRANDMOTHER)}&target=de")
    output(page)
    return bodies[-1]


def test_page_views_command_and_api_have_one_translation(
    bundled_server: ServerProcess, visited: Callable[..., Any], heedful: Command
) -> None:
    with visited(bundled_server) as page:
        question = question_of_the_page(page, bundled_server)
        shown = output(page)
    on_page = [posted(bundled_server, {**question, "q": text})["translatedText"] for text in SENTENCES]
    assert shown == on_page[0]
    assert [traced(bundled_server, q=text)["target"]["text"] for text in SENTENCES] == on_page
    assert posted(bundled_server, {"q": SENTENCES, "source": "en", "target": "de"})["translatedText"] == on_page
    done = heedful("translate", "--to", "de", stdin="\n".join(SENTENCES).encode())
    assert done.returncode == 0
    assert done.stdout.decode().splitlines() == on_page


def test_the_command_on_the_page_is_the_request_of_the_page(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    with visited(bundled_server) as page:
        question = question_of_the_page(page, bundled_server)
        words = shlex.split(page.text_content(".curl code"))
        assert json.loads(words[words.index("-d") + 1]) == question
        others = page.locator(".others button > span:first-child").all_text_contents()
    answer = posted(bundled_server, question)
    assert others == [answer["translatedText"], *answer["alternatives"]]
    assert len(others) == 4


def test_a_chosen_translation_goes_along_to_every_view_and_can_be_shared(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    with visited(bundled_server, f"?text={quote(GRANDMOTHER)}&target=de") as page:
        best = output(page)
        page.locator(".others button").nth(1).click()
        chosen = output(page)
        assert chosen != best
        page.get_by_role("link", name="Look inside").click()
        page.wait_for_selector(".origin")
        assert parse_qs(urlsplit(page.url).query)["hypothesis"] == [chosen]
        address = page.url
        page.get_by_role("link", name="Decoding").click()
        page.locator(".outcome .sentence.target", has_text=chosen).wait_for()
        page.get_by_role("link", name="Heads").click()
        page.locator(".outcome .row .text", has_text=chosen).first.wait_for()
        page.get_by_role("link", name="Translate", exact=True).click()
        assert output(page) == chosen
        page.goto(address)
        page.wait_for_selector(".origin")
        page.get_by_role("link", name="Decoding").click()
        page.locator(".outcome .sentence.target", has_text=chosen).wait_for()
        assert page.locator(".tree").count() == 0, "nothing was searched for"
        page.locator(".origin button").click()
        page.locator(".outcome .sentence.target", has_text=best).wait_for()
        assert page.locator(".tree").count() == 1


def test_another_sentence_or_beam_forgets_the_choice(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    with visited(bundled_server, f"?text={quote(GRANDMOTHER)}&target=de") as page:
        output(page)
        page.locator(".others button").nth(1).click()
        page.locator("textarea").fill("Good morning.")
        page.wait_for_function("() => !location.search.includes('hypothesis')")
        assert output(page) == posted(bundled_server, {"q": "Good morning.", "target": "de"})["translatedText"]
    strange = f"?text={quote(GRANDMOTHER)}&target=de&hypothesis=Niemand."
    with visited(bundled_server, strange) as page:
        shown = output(page)
        page.wait_for_function("() => !location.search.includes('hypothesis')")
        assert output(page) == shown


def test_another_text_forgets_all_that_was_chosen_inside_the_last(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    inside = "held=2&cell=1,2&prefix=5&sentence=1&step=3"
    with visited(bundled_server, f"?view=translate&layer=1&{inside}", waits_for=".examples") as page:
        page.locator(".examples button").first.click()
        page.wait_for_function("new URLSearchParams(location.search).has('text')")
        left = {name for name in ("held", "cell", "prefix", "sentence", "step") if f"{name}=" in page.url}
        assert not left
        assert "layer=1" in page.url, "which part of the model is looked at does not depend on the text"
