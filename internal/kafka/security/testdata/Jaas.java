import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeMap;
import javax.security.auth.login.Configuration;

/**
 * Writes what Kafka makes of each line of jaas.txt, in which \u000a stands for the end of a line:
 *
 *     java -cp "$(printf '%s:' ~/.cache/kt/kafka-4.3.1/lib/*.jar)" Jaas.java jaas.txt > jaas_java.txt
 */
public class Jaas {
    public static void main(String[] args) throws Exception {
        var config = Class.forName("org.apache.kafka.common.security.JaasConfig").getDeclaredConstructor(String.class, String.class);
        config.setAccessible(true);
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            var out = new StringBuilder();
            try {
                var entries = ((Configuration) config.newInstance("x", line.replace("\\u000a", "\n"))).getAppConfigurationEntry("x");
                if (entries.length != 1) {
                    throw new IllegalArgumentException("a client has one login module");
                }
                String name = entries[0].getLoginModuleName();
                out.append(name.substring(name.lastIndexOf('.') + 1));
                new TreeMap<String, Object>(entries[0].getOptions()).forEach((k, v) -> out.append('\t').append(k).append('=').append(v));
            } catch (Exception e) {
                out.append("error");
            }
            for (char c : out.toString().toCharArray()) {
                System.out.print(c == '\t' || c > ' ' && c < 127 || c == ' ' ? String.valueOf(c) : String.format("\\u%04x", (int) c));
            }
            System.out.println();
        }
    }
}
