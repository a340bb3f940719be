package io.github.reactorratelimit.documentation.figures;

import io.github.reactorratelimit.replay.Arrival;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Ten seconds of one client: calm, a burst, a flood, a rest, and a burst that straddles the end of a second. */
final class Traffic {

    static final Duration LENGTH = Duration.ofSeconds(10);

    private Traffic() {}

    static List<Arrival> arrivals() {
        List<Arrival> arrivals = new ArrayList<>();
        evenly(arrivals, 0, 2_000, 200);
        evenly(arrivals, 2_500, 2_600, 5);
        evenly(arrivals, 4_000, 6_000, 25);
        evenly(arrivals, 8_900, 9_100, 10);
        return arrivals;
    }

    private static void evenly(List<Arrival> arrivals, long fromMillis, long toMillis, long everyMillis) {
        for (long at = fromMillis; at < toMillis; at += everyMillis) {
            arrivals.add(Arrival.at(Duration.ofMillis(at), "client"));
        }
    }
}
