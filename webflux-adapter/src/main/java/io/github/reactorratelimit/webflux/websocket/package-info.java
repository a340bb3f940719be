/** Limits WebSockets: how many connections a key may hold, and how many messages it may send. Looks at the keys. */
@NullMarked
package io.github.reactorratelimit.webflux.websocket;

import org.jspecify.annotations.NullMarked;
