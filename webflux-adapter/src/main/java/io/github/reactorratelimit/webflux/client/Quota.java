package io.github.reactorratelimit.webflux.client;

/**
 * What a server says that is left.
 *
 * @param remaining calls, perhaps none
 * @param seconds until there are more
 * @param endless whether as many are given every so many seconds, rather than these once
 */
record Quota(long remaining, long seconds, boolean endless) {}
