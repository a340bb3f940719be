package io.github.reactorratelimit.examples.replay;

/**
 * A request in a log.
 *
 * @param epochNanos when, since 1970
 * @param key whose it was
 */
public record LogRecord(long epochNanos, String key) {}
