package io.github.reactorratelimit.documentation.figures;

import java.time.Duration;
import java.util.List;

/** The most departures in any half-open window of a second. */
final class MostInASecond {

    private MostInASecond() {}

    static int of(List<Duration> times) {
        List<Duration> departures = times.stream().sorted().toList();
        int most = 0;
        int first = 0;
        for (int last = 0; last < departures.size(); last++) {
            while (departures.get(last).minus(departures.get(first)).compareTo(Duration.ofSeconds(1)) >= 0) {
                first++;
            }
            most = Math.max(most, last - first + 1);
        }
        return most;
    }
}
