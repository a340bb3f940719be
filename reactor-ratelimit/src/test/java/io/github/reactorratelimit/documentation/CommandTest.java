package io.github.reactorratelimit.documentation;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The commands of the guides name modules, tests, classes, profiles and benchmarks that there are. */
class CommandTest {

    /** What stands for a test of the reader's. */
    private static final String PLACEHOLDER = "SomeTest";

    private static final Set<String> FORMS = Set.of("try", "quick", "full", "list", "report");
    private static final Path GROUPS =
            Guide.ROOT.resolve("benchmarks/src/main/java/io/github/reactorratelimit/benchmarks/Groups.java");

    private static List<Command> commands() throws IOException {
        List<Command> commands = Guide.all().stream()
                .flatMap(guide -> Command.in(guide).stream())
                .toList();
        assertThat(commands).hasSizeGreaterThan(20);
        return commands;
    }

    @Test
    void everyModuleExists() throws IOException {
        assertThat(commands())
                .allSatisfy(command -> assertThat(command.modules())
                        .allSatisfy(
                                module -> assertThat(Guide.ROOT.resolve(module).resolve("pom.xml"))
                                        .exists()));
    }

    @Test
    void everyTestExistsInItsModule() throws IOException {
        assertThat(commands())
                .allSatisfy(command -> assertThat(command.tests())
                        .filteredOn(test -> !test.equals(PLACEHOLDER))
                        .allSatisfy(test -> assertThat(Command.sourcesOf(test))
                                .anyMatch(file -> command.modules().stream()
                                        .anyMatch(module -> file.startsWith(Guide.ROOT.resolve(module))))));
    }

    /** Else Maven ends at the first module that has no such test. */
    @Test
    void testsOfAModuleAreNotExpectedInThoseItNeeds() throws IOException {
        assertThat(commands())
                .filteredOn(command ->
                        command.text().contains(" -am ") && !command.tests().isEmpty())
                .isNotEmpty()
                .allSatisfy(command -> assertThat(command.text()).contains("-Dsurefire.failIfNoSpecifiedTests=false"));
    }

    @Test
    void everyMainClassExists() throws IOException {
        assertThat(commands())
                .flatMap(command -> command
                        .option("-Dspring-boot.run.main-class=")
                        .map(type -> Guide.ROOT
                                .resolve(command.modules().get(0))
                                .resolve("src/main/java")
                                .resolve(type.replace('.', '/') + ".java"))
                        .stream()
                        .toList())
                .hasSizeGreaterThan(1)
                .allSatisfy(source -> assertThat(source).exists());
    }

    @Test
    void everyProfileExists() throws IOException {
        StringBuilder poms = new StringBuilder(Files.readString(Guide.ROOT.resolve("pom.xml")));
        try (Stream<Path> modules = Files.list(Guide.ROOT)) {
            for (Path pom : modules.map(module -> module.resolve("pom.xml"))
                    .filter(Files::exists)
                    .toList()) {
                poms.append(Files.readString(pom));
            }
        }
        assertThat(commands())
                .allSatisfy(command -> assertThat(command.profiles())
                        .allSatisfy(profile -> assertThat(poms.toString()).contains("<id>" + profile + "</id>")));
    }

    @Test
    void everyBenchmarkExists() throws IOException {
        String groups = Files.readString(GROUPS);
        assertThat(commands())
                .allSatisfy(command -> assertThat(command.benchmarkWords())
                        .filteredOn(word -> !FORMS.contains(word))
                        .allSatisfy(word -> assertThat(groups).contains('"' + word)));
    }

    @Test
    void commandsAreFoundInBlocksAndInText() {
        String text = """
                Run `mvn -pl core
                test -Dtest='ATest,BTest#some'` or

                    mvn -Pfull -pl web test \\
                        -Dtest="C*Test"
                """;
        Guide guide = new Guide(Guide.ROOT.resolve("some.md"), text);

        assertThat(Command.in(guide))
                .satisfiesExactly(
                        inText -> {
                            assertThat(inText.modules()).containsExactly("core");
                            assertThat(inText.tests()).containsExactly("ATest", "BTest");
                        },
                        inBlock -> {
                            assertThat(inBlock.profiles()).containsExactly("full");
                            assertThat(inBlock.tests()).containsExactly("C*Test");
                        });
    }
}
