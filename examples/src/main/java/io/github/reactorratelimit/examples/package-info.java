/** Small programs that each show one use of the library. Nothing imports them. */
@NullMarked
package io.github.reactorratelimit.examples;

import org.jspecify.annotations.NullMarked;
