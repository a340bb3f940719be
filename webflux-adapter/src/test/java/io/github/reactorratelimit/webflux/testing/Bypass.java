package io.github.reactorratelimit.webflux.testing;

import java.util.concurrent.Callable;

/**
 * An attempt to get past a limit.
 *
 * @param name what is tried
 * @param passing makes the attempt and yields how many requests got through
 * @param allowed how many may
 */
public record Bypass(String name, Callable<Integer> passing, int allowed) {

    @Override
    public String toString() {
        return name;
    }
}
