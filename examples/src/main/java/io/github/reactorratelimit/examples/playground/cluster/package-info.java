/** The tab of the cluster: two instances that share a limit through a Redis of the page's own, which can be killed. In real time. */
@NullMarked
package io.github.reactorratelimit.examples.playground.cluster;

import org.jspecify.annotations.NullMarked;
