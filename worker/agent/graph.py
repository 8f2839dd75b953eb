"""The LangChain agent: one graph a process, shared by every alarm; what differs is in the run's context."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph

from db.settings import Language
from tools.context import AlarmContext
from tools.generate_work_order import generate_work_order
from tools.query_shift import query_shift
from tools.query_spare_parts import query_spare_parts
from tools.search_manual import search_manual
from worker.agent.guard import Guard
from worker.agent.handover import Handover, hand_over
from worker.agent.prompts import alarm_prompt, system_prompt
from worker.settings import AgentSettings

Agent = CompiledStateGraph[Any, AlarmContext, Any, Any]

RECURSION_LIMIT = 2_000
"""Graph steps, three or four a turn. Never met by design: the handover bounds a model's turns (100 at most),
and the runbook asks for eight parts in one. There if that is wrong."""


TOOLS: list[BaseTool] = [search_manual, query_shift, query_spare_parts, generate_work_order]


def build_agent(model: BaseChatModel, settings: AgentSettings, language: Language) -> Agent:
    return create_agent(
        model,
        tools=TOOLS,
        system_prompt=system_prompt(language),
        context_schema=AlarmContext,
        middleware=[
            # Around each turn: who takes it, the model or the runbook; and whether the run may end.
            Handover(settings),
            # Around each tool call: nothing that is answered is asked again.
            Guard(),
        ],
    )


async def run_agent(agent: Agent, context: AlarmContext) -> None:
    """Work one alarm through. When it returns, `context.ledger.order_id` stands.

    Errors: the settlement's own (db.errors), and a cancellation; a model's errors never leave it.
    """
    prompt = alarm_prompt(context)
    context.run.trace.alarm(prompt)
    if context.alarm.is_poison:
        hand_over(context, "poison")
    await agent.ainvoke(
        {"messages": [HumanMessage(prompt)]},
        {"recursion_limit": RECURSION_LIMIT},
        context=context,
    )
