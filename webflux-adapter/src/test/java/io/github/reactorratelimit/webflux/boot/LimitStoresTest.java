package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.local.LocalStore;
import io.github.reactorratelimit.webflux.boot.LimitProperties.WhenUnavailable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

class LimitStoresTest {

    private static final RateLimitPolicy POLICY = FixedWindow.of(1, Duration.ofDays(1));

    private final List<Connection> connections = new ArrayList<>();

    private static final class Connection implements SharedStore {

        private int stores;
        private boolean closed;

        @Override
        public RateLimitStore store(WhenUnavailable mode, @Nullable Integer instances, @Nullable Duration prepaid) {
            stores++;
            return LocalStore.withMaxKeys(100);
        }

        @Override
        public Mono<Condition> condition() {
            return Mono.just(new Condition(true, List.of()));
        }

        @Override
        public Mono<Void> close() {
            return Mono.fromRunnable(() -> closed = true);
        }
    }

    private LimitStores stores;

    /** While the first limit connects, another one does. */
    private SharedStore connect() {
        Connection connection = new Connection();
        connections.add(connection);
        if (connections.size() == 1) {
            stores.standard(POLICY, "another");
        }
        return connection;
    }

    @Test
    void limitsThatConnectAtTheSameTimeShareOneConnection() {
        stores = new LimitStores(BoundProperties.of("a: b"), this::connect);

        stores.standard(POLICY, "first");

        assertThat(connections).hasSize(2);
        Connection shared = connections.get(1);
        assertThat(stores.shared()).isSameAs(shared);
        assertThat(shared.stores).isEqualTo(2);
        assertThat(shared.closed).isFalse();
        assertThat(connections.get(0).closed).isTrue();
    }
}
