/**
 * Real Redis servers on free loopback ports: standalone, Sentinel and Cluster, with the faults that a network and a process can have. Nothing needs
 * to be installed. Looks at nothing of the library.
 */
@NullMarked
package io.github.reactorratelimit.testing.redis;

import org.jspecify.annotations.NullMarked;
