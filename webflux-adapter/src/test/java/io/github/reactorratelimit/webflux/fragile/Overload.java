package io.github.reactorratelimit.webflux.fragile;

/** What a {@link FragileServer} does with a call that is more than it can bear. */
public enum Overload {
    /** Answers 429, which costs it nothing. */
    REFUSES,
    /** Takes every call in, and answers each when those before it are done: the line only grows longer. */
    SLOWS_DOWN,
    /** Answers 500, which costs it as much as an answer: it recovers only when it is called less. */
    FAILS
}
