package io.github.reactorratelimit.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class FreePortsTest {

    private static final int BUS_OFFSET = 10_000;

    @Test
    void noPortIsGivenOutTwiceOrIsTheBusOfAnother() {
        List<Integer> ports = Stream.generate(FreePorts::next).limit(500).toList();
        assertThat(ports).doesNotHaveDuplicates().allMatch(port -> port >= BUS_OFFSET && port < 2 * BUS_OFFSET);
    }
}
