/**
 * Real Redis servers for the tests, started by the tests themselves on free loopback ports: standalone, Sentinel and
 * Cluster, with the faults a network and a process can have. Nothing needs to be installed. Looks at nothing of the
 * library.
 */
@NullMarked
package io.github.reactorratelimit.redis.server;

import org.jspecify.annotations.NullMarked;
