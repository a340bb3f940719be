package io.github.reactorratelimit.webflux.fragile;

import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.ChildJvm;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Processes that call a server together: they begin when all of them are warm, and end when they are told or when their time is over. */
final class Processes implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofMinutes(4);

    private final ClientPlan plan;
    private final FragileServer server;
    private final StatefulRedisConnection<String, String> redis;
    private final List<ChildJvm> children = new ArrayList<>();

    private Processes(ClientPlan plan, FragileServer server, StatefulRedisConnection<String, String> redis) {
        this.plan = plan;
        this.server = server;
        this.redis = redis;
        redis.setTimeout(PATIENCE);
    }

    /** They have begun when this returns, and the server knows nothing of how they warmed up. */
    static Processes start(int count, ClientPlan plan, FragileServer server, Standalone redis) {
        Processes processes = new Processes(plan, server, redis.connect());
        try {
            for (int i = 0; i < count; i++) {
                processes.children.add(ChildJvm.start(FragileClient.class, plan.arguments()));
            }
            String all = Integer.toString(count);
            Await.until(
                    "all processes are warm",
                    () -> processes.allLive()
                            && all.equals(processes.redis.sync().get(plan.readyKey())));
            server.forget();
            processes.redis.sync().set(plan.goKey(), "go");
            return processes;
        } catch (Throwable failure) {
            processes.close();
            throw failure;
        }
    }

    /** One that ended before it began has failed, and says how. */
    private boolean allLive() {
        children.stream().filter(child -> !child.isAlive()).forEach(child -> child.await(PATIENCE));
        return true;
    }

    void stop() {
        redis.sync().set(plan.stopKey(), "stop");
    }

    /** What came of it, once all have ended. */
    Run await() {
        List<List<String>> outputs = children.stream()
                .map(child -> child.await(plan.duration().plus(PATIENCE)))
                .toList();
        return new Run(outputs, server.arrivals());
    }

    @Override
    public void close() {
        children.forEach(ChildJvm::close);
        redis.close();
    }
}
