"""Counts the words of `{"text": …}`. Needs CADENZA_URL, CADENZA_TOKEN and CADENZA_AGENT (an id)."""

import logging
import os
import signal

from cadenza_worker import Api, Job, JobError, Worker


def count_words(job: Job) -> dict:
    text = job.input.get("text")
    if not isinstance(text, str):
        raise JobError("the input has no text", type="validation", retry=False)
    counts: dict = {}
    words = text.lower().split()
    for number, word in enumerate(words):
        job.check()
        job.progress(100 * number / len(words))
        counts[word] = counts.get(word, 0) + 1
    return {"words": len(words), "counts": counts}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    worker = Worker(
        Api(os.environ["CADENZA_URL"], os.environ["CADENZA_TOKEN"]),
        [os.environ["CADENZA_AGENT"]],
        count_words,
        concurrency=2,
        name="word-count",
    )
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    worker.run()
