package io.github.reactorratelimit.adaptive;

/** Checks of what the adaptive policies have in common. */
final class Bounds {

    private Bounds() {}

    static void check(long floor, long ceiling, long initial) {
        if (floor < 1) {
            throw new IllegalArgumentException("floor must be positive, was " + floor);
        }
        if (ceiling < floor) {
            throw new IllegalArgumentException("ceiling must be at least the floor " + floor + ", was " + ceiling);
        }
        if (initial < floor || initial > ceiling) {
            throw new IllegalArgumentException(
                    "initial must be between " + floor + " and " + ceiling + ", was " + initial);
        }
    }
}
