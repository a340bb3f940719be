/**
 * A downstream that breaks when it is called too often, processes that call it, and what must be seen of the calls: with
 * a limiter and without one. Each scenario is a test with a short form in the default build and a long one with {@code
 * -Pfull}. The server and the clients know no test framework.
 */
package io.github.reactorratelimit.webflux.fragile;
