package io.github.reactorratelimit.replay;

import java.util.List;

/**
 * A whole replay.
 *
 * @param events one for each arrival, in their order
 * @param summary the same in numbers
 */
public record ReplayResult(List<ReplayEvent> events, ReplaySummary summary) {

    public ReplayResult {
        events = List.copyOf(events);
    }
}
