package io.github.reactorratelimit.documentation.figures;

import io.github.reactorratelimit.replay.ReplayEvent;
import java.time.Duration;
import java.util.List;

/** The most departures in any half-open window of a second. */
final class MostInASecond {

    private MostInASecond() {}

    static int of(List<ReplayEvent> events) {
        List<Duration> departures = events.stream()
                .flatMap(event -> event.departure().stream())
                .sorted()
                .toList();
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
