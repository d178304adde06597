"""Agents, settings sources and the first words of a session."""

import json

from claude_agent_sdk import AgentDefinition, AssistantMessage, ResultMessage, SystemMessage

from conftest import answers, init, result, write


def agent(text="You greet people."):
    return AgentDefinition(description="Greets people", prompt=text, tools=["Read"], model="sonnet")


def test_an_agent_of_the_client_is_listed(talk):
    async def conversation(client):
        await client.query("hello")
        return await answers(client)

    messages = talk(conversation, agents={"greeter": agent()})
    assert "greeter" in init(messages)["agents"]


def test_an_agent_is_listed_for_one_prompt_too(ask):
    assert "greeter" in init(ask("hello", agents={"greeter": agent()}))["agents"]


def test_many_long_agents_are_taken(ask):
    agents = {f"agent-{n}": agent("x" * 13_000) for n in range(20)}
    listed = init(ask("hello", agents=agents))["agents"]
    assert [name for name in agents if name not in listed] == []


PAGE = "---\nname: fs-agent\ndescription: From a file\ntools: Read\n---\nYou are from a file.\n"


def test_an_agent_of_the_project_is_listed_and_the_turn_is_whole(project, talk):
    write(project / ".claude/agents/fs-agent.md", PAGE)

    async def conversation(client):
        await client.query("Say hello in exactly 3 words")
        return await answers(client)

    messages = talk(conversation, setting_sources=["project"], max_turns=1)
    kinds = [type(m) for m in messages]
    assert kinds[0] is SystemMessage and kinds[-1] is ResultMessage and AssistantMessage in kinds
    assert "fs-agent" in init(messages)["agents"]
    assert not result(messages).is_error


def test_without_sources_nothing_of_the_project_is_read(project, ask):
    write(project / ".claude/agents/fs-agent.md", PAGE)
    write(project / ".claude/settings.local.json", json.dumps({"outputStyle": "local-style"}))
    said = init(ask("hello", setting_sources=[]))
    assert "fs-agent" not in said["agents"]
    assert said["output_style"] == "default"


def test_user_source_alone_hides_the_commands_of_the_project(project, ask):
    write(project / ".claude/commands/testcmd.md", "---\ndescription: A test\n---\nSay it.\n")
    assert "testcmd" not in init(ask("hello", setting_sources=["user"]))["slash_commands"]
    assert "testcmd" in init(ask("hello", setting_sources=["user", "project"]))["slash_commands"]


def test_local_settings_are_echoed_as_they_are(project, ask):
    write(project / ".claude/settings.local.json", json.dumps({"outputStyle": "local-test-style"}))
    said = init(ask("hello", setting_sources=["user", "project", "local"]))
    assert said["output_style"] == "local-test-style"


def test_the_first_words_have_every_key(ask):
    said = init(ask("hello"))
    for key in (
        "cwd tools mcp_servers model permissionMode slash_commands agents skills plugins output_style "
        "apiKeySource claude_code_version capabilities uuid session_id"
    ).split():
        assert key in said, key
    assert all(part.isdigit() for part in said["claude_code_version"].split("."))
