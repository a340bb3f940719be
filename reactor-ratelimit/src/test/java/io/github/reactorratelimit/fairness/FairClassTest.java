package io.github.reactorratelimit.fairness;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.scheduler.Schedulers;

class FairClassTest {

    private final FairClass calls = new FairClass();

    private FairCall add(String tenant, long permits, long weight) {
        RequestedPermits requested = new RequestedPermits(RequestedPermits.Form.SPENT, permits);
        FairCall call = new FairCall("k", Schedulers.immediate(), (given, granted) -> {}, tenant, 0, requested, weight);
        calls.add(call);
        return call;
    }

    private List<String> serve(int count) {
        List<String> order = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            FairCall first = calls.first();
            order.add(first.tenant);
            calls.served(first);
        }
        return order;
    }

    @Test
    void tenantWithoutCallsLeavesNothingBehind() {
        List<FairCall> leaving = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            FairCall call = add("name " + i, 1, 1);
            if (i % 2 == 0) {
                leaving.add(call);
            }
        }
        leaving.forEach(calls::remove);
        serve(499);
        assertThat(calls.tenants()).isEqualTo(1);
        serve(1);
        assertThat(calls.tenants()).isZero();
        assertThat(calls.size()).isZero();
    }

    @Test
    void largestCallsDoNotOverflowVirtualTime() {
        for (int i = 0; i < 40; i++) {
            add("a", 1L << 40, 1);
            add("b", 1L << 40, 2);
        }
        List<String> order = serve(60);
        for (int served = 3; served <= 60; served += 3) {
            assertThat(order.subList(0, served).stream().filter("a"::equals).count())
                    .as("of the first %d", served)
                    .isBetween(served / 3 - 1L, served / 3 + 1L);
        }
    }

    /** With weights as large as these a permit takes hardly more than one unit: what a division leaves over must not be lost. */
    @Test
    void largeWeightsDoNotDrift() {
        for (int i = 0; i < 2_700; i++) {
            add("heavy", 1, 1_000_000);
            add("light", 1, 350_000);
        }
        long light = serve(2_700).stream().filter("light"::equals).count();
        assertThat(light).isBetween(699L, 701L);
    }

    @Test
    void callBehindOneThatLeftTakesItsPlace() {
        FairCall first = add("a", 10, 1);
        add("a", 10, 1);
        add("b", 5, 1);
        add("b", 7, 1);
        calls.remove(first);
        assertThat(serve(3)).containsExactly("b", "a", "b");
    }
}
