package io.github.reactorratelimit.webflux.client;

/**
 * What a server says that is left.
 *
 * @param remaining calls, perhaps none
 * @param seconds until there are more
 */
record Quota(long remaining, long seconds) {}
