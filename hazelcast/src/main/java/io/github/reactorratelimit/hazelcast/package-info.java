/** Limits in a map of embedded Hazelcast members. */
@NullMarked
package io.github.reactorratelimit.hazelcast;

import org.jspecify.annotations.NullMarked;
