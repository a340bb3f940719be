package io.github.reactorratelimit.examples.playground.fragile;

/** What a server does with more than it can bear. */
enum Breaks {
    /** Answers 429, which costs it nothing. */
    REFUSES,
    /** Takes calls in and answers each when those before it are done: its line grows longer, and clients do not wait that long. */
    SLOWS_DOWN,
    /** Answers 503, which costs it as much as an answer: it recovers only when it is called less. */
    FAILS
}
