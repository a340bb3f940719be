package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.KeyRecorder;
import io.github.reactorratelimit.hotkeys.HotKey;
import io.github.reactorratelimit.hotkeys.HotKeys;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Counts the decisions of a limit since the application started, and its hot keys. */
final class LimitStatistics implements KeyRecorder {

    private final LongAdder allowed = new LongAdder();
    private final LongAdder denied = new LongAdder();
    private final LongAdder permits = new LongAdder();
    private final @Nullable HotKeys hotKeys;

    /**
     * @param top the number of hot keys; 0 for none
     */
    LimitStatistics(int top) {
        this.hotKeys =
                top == 0 ? null : PropertyChecks.of("reactor-ratelimit.actuator.hot-keys", () -> HotKeys.top(top));
    }

    @Override
    public void decided(String key, boolean wasAllowed, long asked) {
        if (wasAllowed) {
            allowed.increment();
            permits.add(asked);
        } else {
            denied.increment();
        }
        if (hotKeys != null) {
            hotKeys.decided(key, wasAllowed, asked);
        }
    }

    long allowed() {
        return allowed.sum();
    }

    long denied() {
        return denied.sum();
    }

    long permitsTaken() {
        return permits.sum();
    }

    Mono<List<HotKey>> mostUsed() {
        return hotKeys == null ? Mono.just(List.of()) : hotKeys.mostUsed();
    }

    Mono<List<HotKey>> mostDenied() {
        return hotKeys == null ? Mono.just(List.of()) : hotKeys.mostDenied();
    }
}
